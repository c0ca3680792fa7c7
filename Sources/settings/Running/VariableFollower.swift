import SettingsHTTP
import SettingsModel

/// Follows suites, and reports the variables of each state.
struct VariableFollower {
    let client: DaemonClient
    let suites: [SuiteName]
    let mapping: VariableMapping
    let cache: VariableCache?
    let events: FollowerEvents
    /// True to stop after the first state.
    let isEndedByFirstState: Bool

    /// The pause after an error that a retry does not fix, such as a missing right.
    private static let pauseAfterFailure = Duration.seconds(30)

    /// Runs until the task is cancelled.
    func follow() async {
        // Until the first state, a suite that does not exist is an error. Later, a suite may be dropped.
        var isStart = true
        while !Task.isCancelled {
            do {
                let prefixes = mapping.keyPrefix.isEmpty ? [] : [mapping.keyPrefix]
                var observations = client.changes(of: suites, prefixes: prefixes, latest: true)
                observations.onOutage = { reportOutage($0) }
                for try await _ in observations {
                    let snapshot = try await SettingsSnapshot.read(
                        suites, prefix: mapping.keyPrefix, from: client, onOutage: reportOutage)
                    if isStart, let error = suites.lazy.compactMap({ snapshot.missing[$0] }).first { throw error }
                    isStart = false
                    report(suites.flatMap { snapshot.settings[$0] ?? [] })
                    if isEndedByFirstState { return }
                }
            } catch {
                events.append(.failure(ToolError(describing: error)))
                try? await Task.sleep(for: Self.pauseAfterFailure)
            }
        }
    }

    private func report(_ settings: [EffectiveSetting]) {
        do throws(ToolError) {
            let variables = try mapping.variables(of: settings)
            do throws(ToolError) {
                // Before the program starts, because a short program would end before the file is complete.
                try cache?.store(variables)
            } catch {
                Terminal.warn("cannot keep the values in the cache: \(error.message)")
            }
            events.append(.variables(variables))
        } catch {
            events.append(.failure(error))
        }
    }

    private func reportOutage(_ error: SettingsError) {
        events.append(.outage(ToolError(describing: error)))
    }
}
