import SettingsAPI
import SettingsHTTP
import SettingsModel

/// A setting that has an effective value, or a stored secret that the caller may not read.
struct EffectiveSetting: Equatable, Sendable {
    let suite: SuiteName
    let key: KeyName
    /// Nil for a secret that the caller may not read.
    let value: JSONValue?
    var isSecret = false

    /// The suite and the key, for messages.
    var title: String { "\(suite) \(Terminal.escaped(key.text))" }
}

/// The effective settings of suites. All suites are read at the same revision, unless the daemon refuses to read a
/// suite at this revision. Then the newest settings of this suite are used.
struct SettingsSnapshot: Sendable {
    /// The settings of the suites that exist, ordered by key.
    private(set) var settings: [SuiteName: [EffectiveSetting]] = [:]
    /// The errors of the daemon for the suites that do not exist.
    private(set) var missing: [SuiteName: SettingsError] = [:]

    /// Reads the newest settings whose keys begin with a prefix. Tries again after an error that a later attempt may
    /// correct, for example if the daemon does not answer.
    ///
    /// - Parameters:
    ///   - deadline: the time after which no further attempt begins; nil for no limit.
    ///   - onOutage: called once, after the first failed attempt.
    static func read(
        _ suites: [SuiteName], prefix: String = "", from client: DaemonClient,
        until deadline: ContinuousClock.Instant? = nil, onOutage: (SettingsError) -> Void = { _ in }
    ) async throws -> SettingsSnapshot {
        var (backOff, generator, isReported) = (BackOff(), SystemRandomNumberGenerator(), false)
        while true {
            let timeout = deadline.map { max(.seconds(1), min($0 - .now, .seconds(10))) } ?? .seconds(10)
            do throws(SettingsError) {
                return try await SettingsSnapshot(of: suites, prefix, from: client.withTimeout(timeout))
            } catch {
                guard error.isTransient else { throw error }
                if !isReported { onOutage(error) }
                isReported = true
                let requested = BackOff.requestedPause(milliseconds: error.problem?.retryAfterMs)
                let pause = backOff.next(notBefore: requested, using: &generator)
                if let deadline, .now + pause > deadline { throw error }
                try await Task.sleep(for: pause)
            }
        }
    }

    private init(of suites: [SuiteName], _ prefix: String, from client: DaemonClient) async throws(SettingsError) {
        guard !suites.isEmpty else { return }
        // The request reads only the newest revision, so one suite in the list is enough.
        let revision = try await client.send(.suites(limit: 1)).cursor.revision
        for suite in suites {
            do throws(SettingsError) {
                settings[suite] = try await Self.settings(of: suite, prefix, at: .revision(revision), from: client)
            } catch {
                guard error.code == .unknownSuite else { throw error }
                missing[suite] = error
            }
        }
    }

    /// Reads the settings of a suite at a moment. If the daemon refuses, for example because its history no longer
    /// reaches back to the moment, reads the newest settings.
    private static func settings(
        of suite: SuiteName, _ prefix: String, at moment: Moment?, from client: DaemonClient
    ) async throws(SettingsError) -> [EffectiveSetting] {
        do throws(SettingsError) {
            // The list of keys marks every secret. The answer to `observe`, which also has the effective values, marks
            // only the secrets that the caller may not read.
            let keys = try await client.send(.allKeys(of: suite, prefix: prefix, at: moment))
            return keys.map(\.setting).filter { $0.value != nil || $0.isConcealed && $0.source.isStored }.map {
                EffectiveSetting(suite: suite, key: $0.key, value: $0.value, isSecret: $0.isSecret)
            }
        } catch {
            guard moment != nil, !error.isTransient else { throw error }
            return try await settings(of: suite, prefix, at: nil, from: client)
        }
    }
}
