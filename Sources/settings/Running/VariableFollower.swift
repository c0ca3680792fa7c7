import SettingsAPI
import SettingsHTTP
import SettingsModel

/// Follows suites, and posts the variables of each state to an inbox.
struct VariableFollower {
    let client: DaemonClient
    let suites: [SuiteName]
    let mapping: VariableMapping
    let cache: SettingsCache?
    let inbox: VariableInbox
    /// True to stop after the first state.
    let isEndedByFirstState: Bool

    /// The pause after an error that a retry does not fix, such as a missing right.
    private static let longPause = Duration.seconds(30)

    /// Runs until the task is cancelled.
    func follow() async {
        var cursor: Cursor?
        while !Task.isCancelled {
            do {
                let keyPrefixes = mapping.keyPrefix.isEmpty ? [] : [mapping.keyPrefix]
                var observations = client.changes(
                    of: suites, since: cursor.map { .cursor($0) }, prefixes: keyPrefixes, latest: true)
                observations.onOutage = { reportOutage($0) }
                for try await observation in observations {
                    let settings = try await settings(at: observation.cursor.revision, isStart: cursor == nil)
                    cursor = observation.cursor
                    apply(settings)
                    if isEndedByFirstState { return }
                }
            } catch {
                inbox.post { $0.failure = ToolError(describing: error) }
                try? await Task.sleep(for: Self.longPause)
            }
        }
    }

    private func apply(_ settings: [EffectiveSetting]) {
        do throws(ToolError) {
            let variables = try mapping.variables(of: settings)
            storeInCache(settings)
            inbox.post { ($0.variables, $0.failure) = (variables, nil) }
        } catch {
            inbox.post { ($0.variables, $0.failure) = (nil, error) }
        }
    }

    /// Runs before the program gets the settings, because a short program would end before the file is complete.
    private func storeInCache(_ settings: [EffectiveSetting]) {
        do throws(ToolError) {
            try cache?.store(settings, of: suites, mapping)
        } catch {
            Terminal.warn(error.message)
        }
    }

    private func reportOutage(_ error: SettingsError) {
        inbox.post { $0.outage = ToolError(describing: error) }
    }

    /// Reads all suites at one revision, or the newest state of a suite of which the daemon no longer has this revision.
    /// Tries again while the daemon does not answer.
    ///
    /// - Parameter isStart: true if a suite that does not exist is an error. Later, a suite may be dropped.
    private func settings(at revision: Revision, isStart: Bool) async throws -> [EffectiveSetting] {
        var settings: [EffectiveSetting] = []
        for suite in suites {
            do {
                settings += try await self.settings(of: suite, at: revision)
            } catch let error as SettingsError where error.code == .unknownSuite && !isStart {}
        }
        return settings
    }

    private func settings(of suite: SuiteName, at revision: Revision) async throws -> [EffectiveSetting] {
        var (backOff, generator, isReported) = (BackOff(), SystemRandomNumberGenerator(), false)
        while true {
            do throws(SettingsError) {
                return try await client.effectiveSettings(of: suite, prefix: mapping.keyPrefix, at: revision)
            } catch {
                guard error.isTransient else { throw error }
                if !isReported { reportOutage(error) }
                isReported = true
                let requested = BackOff.requestedPause(milliseconds: error.problem?.retryAfterMs)
                try await Task.sleep(for: backOff.next(notBefore: requested, using: &generator))
            }
        }
    }
}
