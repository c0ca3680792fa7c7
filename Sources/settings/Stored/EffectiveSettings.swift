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

    /// The setting in messages.
    var title: String { "\(suite) \(Terminal.plain(key.text))" }
}

extension DaemonClient {
    /// Reads the settings of a suite whose keys begin with a prefix, ordered by key. If this fails for another reason
    /// than an outage, for example because the daemon no longer has the revision, reads the newest state.
    func effectiveSettings(
        of suite: SuiteName, prefix: String = "", at revision: Revision
    ) async throws(SettingsError) -> [EffectiveSetting] {
        var moment: Moment? = .revision(revision)
        while true {
            do throws(SettingsError) {
                // Observations do not mark all secrets, so this reads the keys with their properties.
                let keys = try await send(.allKeys(of: suite, prefix: prefix, at: moment))
                return keys.map(\.setting).filter { $0.value != nil || $0.isConcealed && $0.source.isStored }.map {
                    EffectiveSetting(suite: suite, key: $0.key, value: $0.value, isSecret: $0.isSecret)
                }
            } catch {
                guard moment != nil, !error.isTransient else { throw error }
                moment = nil
            }
        }
    }
}
