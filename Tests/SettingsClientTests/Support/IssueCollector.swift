import Synchronization

@testable import SettingsClient

/// Collects the issues of adapters.
final class IssueCollector: Sendable {
    private let issues = Mutex<[DefaultsIssue]>([])
    /// The boards of the adapters, which may have issues for the log after their adapters are gone.
    private let boards = Mutex<[IssueReporter]>([])

    /// The log for the adapters.
    var log: DefaultsLog { DefaultsLog(issues: { [weak self] in self?.add($0) }) }

    /// The number of issues since the last ``take()``.
    var count: Int { issues.withLock { $0.count } }

    func add(_ issue: DefaultsIssue) {
        issues.withLock { $0.append(issue) }
    }

    /// Has ``take()`` wait for the issues that an adapter has reported.
    func collect<Keys>(from adapter: DefaultsAdapter<Keys>) -> DefaultsAdapter<Keys> {
        boards.withLock { $0.append(adapter.core.issues) }
        return adapter
    }

    /// Returns the issues since the last call.
    func drain() -> [DefaultsIssue] {
        for board in boards.withLock({ $0 }) { board.waitUntilLogged(until: .now + .seconds(180)) }
        return issues.withLock { issues in
            defer { issues = [] }
            return issues
        }
    }
}
