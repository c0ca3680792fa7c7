import SettingsHTTP
import SettingsModel

/// Follows the states of suites for `settings run`, and appends the environment variables of each state to a queue of
/// events. The program is the program that `settings run` starts with these variables.
struct VariableFollower {
    let client: DaemonClient
    let suites: [SuiteName]
    let mapping: VariableMapping
    let cache: VariableCache?
    let events: FollowerEvents
    /// True to end ``follow()`` after the first state.
    let stopsAfterFirstState: Bool

    /// The pause after an error that an immediate retry would not correct, such as a missing right.
    private static let pauseAfterFailure = Duration.seconds(30)

    /// Runs until the task is cancelled or, with ``stopsAfterFirstState``, until the first state was reported.
    func follow() async {
        // At the start, a suite that does not exist is an error, because its name may be misspelt. If a suite is
        // removed later, the program only loses the variables of the suite.
        var isStart = true
        while !Task.isCancelled {
            do {
                let prefixes = mapping.keyPrefix.isEmpty ? [] : [mapping.keyPrefix]
                var observations = client.changes(of: suites, prefixes: prefixes, latest: true)
                observations.onOutage = { reportOutage($0) }
                // The loop reads the settings again after each observation, because `mapping` must know all secrets. An
                // observation marks only the secrets that the caller may not read.
                for try await _ in observations {
                    let snapshot = try await SettingsSnapshot.read(
                        suites, prefix: mapping.keyPrefix, from: client, onOutage: reportOutage)
                    if isStart, let error = suites.lazy.compactMap({ snapshot.missing[$0] }).first { throw error }
                    isStart = false
                    storeAndReport(suites.flatMap { snapshot.settings[$0] ?? [] })
                    if stopsAfterFirstState { return }
                }
            } catch {
                events.append(.failure(ToolError(describing: error)))
                try? await Task.sleep(for: Self.pauseAfterFailure)
            }
        }
    }

    private func storeAndReport(_ settings: [EffectiveSetting]) {
        do throws(ToolError) {
            let variables = try mapping.variables(of: settings)
            do {
                // Store the variables before the program gets them. Then the cache has the variables of the program,
                // even if `settings` is killed soon after the start of the program.
                try cache?.store(variables)
            } catch {
                Terminal.warn("cannot keep the values in the cache: \(ToolError(describing: error).message)")
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
