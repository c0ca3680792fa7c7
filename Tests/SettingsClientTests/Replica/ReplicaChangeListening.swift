@testable import SettingsClient

extension SuiteSession {
    /// Calls the handler with the settings that have changed, and ignores all other notices of the session. Returns the
    /// identifier of the listener.
    func listen(_ handler: @escaping @Sendable ([ObservedSetting]) -> Void) -> UInt64 {
        addListener { notices in
            let changes = notices.compactMap { if case .changed(let setting) = $0 { setting } else { nil } }
            if !changes.isEmpty { handler(changes) }
        }
    }
}
