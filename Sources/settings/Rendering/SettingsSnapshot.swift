import SettingsAPI
import SettingsHTTP
import SettingsModel

/// The effective settings of suites at one revision, or the newest state of a suite of which the daemon no longer has this
/// revision.
struct SettingsSnapshot: Sendable {
    struct Suite: Sendable {
        let name: SuiteName
        private(set) var values: [KeyName: JSONValue] = [:]
        private(set) var secrets: Set<KeyName> = []
        /// The secrets that the caller may not read.
        private(set) var concealed: Set<KeyName> = []

        fileprivate init(_ name: SuiteName, _ settings: [EffectiveSetting]) {
            self.name = name
            for setting in settings {
                if let value = setting.value { values[setting.key] = value } else { concealed.insert(setting.key) }
                if setting.isSecret { secrets.insert(setting.key) }
            }
        }
    }

    /// The suites that exist.
    private(set) var suites: [SuiteName: Suite] = [:]

    init(of names: [SuiteName], from client: DaemonClient) async throws(SettingsError) {
        guard !names.isEmpty else { return }
        // The list of suites is read for its revision.
        let revision = try await client.send(.suites(limit: 1)).cursor.revision
        for name in names {
            do throws(SettingsError) {
                suites[name] = Suite(name, try await client.effectiveSettings(of: name, at: revision))
            } catch {
                guard error.code == .unknownSuite else { throw error }
            }
        }
    }
}
