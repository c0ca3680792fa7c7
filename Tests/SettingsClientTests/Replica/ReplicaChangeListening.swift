@testable import SettingsClient

extension SuiteSession {
    /// Calls the handler with the changes among the news.
    func listen(_ handler: @escaping @Sendable ([ReplicaChange]) -> Void) -> UInt64 {
        listenForNews { news in
            let changes = news.compactMap { if case .changed(let change) = $0 { change } else { nil } }
            if !changes.isEmpty { handler(changes) }
        }
    }
}
