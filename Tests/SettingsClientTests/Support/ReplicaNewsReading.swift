@testable import SettingsClient

extension [ReplicaNews] {
    /// What became of keys.
    var changes: [ReplicaChange] {
        compactMap { if case .changed(let change) = $0 { change } else { nil } }
    }
}
