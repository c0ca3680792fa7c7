import Synchronization

@testable import SettingsClient

/// Collects the issues of adapters.
final class IssueCollector: Sendable {
    private let issues = Mutex<[DefaultsIssue]>([])
    /// The reporters of the adapters. A reporter may still have issues for the log after its adapter is deallocated.
    private let reporters = Mutex<[IssueReporter]>([])

    /// The log for the adapters.
    var log: DefaultsLog { DefaultsLog(issues: { [weak self] in self?.add($0) }) }

    /// The number of issues since the last ``drain()``.
    var count: Int { issues.withLock { $0.count } }

    func add(_ issue: DefaultsIssue) {
        issues.withLock { $0.append(issue) }
    }

    /// Makes ``drain()`` wait for the issues of an adapter. Returns the adapter.
    func collect<Keys>(from adapter: DefaultsAdapter<Keys>) -> DefaultsAdapter<Keys> {
        reporters.withLock { $0.append(adapter.core.issues) }
        return adapter
    }

    /// Returns the issues since the last call.
    func drain() -> [DefaultsIssue] {
        for reporter in reporters.withLock({ $0 }) { reporter.waitUntilLogged(until: .now + .seconds(180)) }
        return issues.withLock { issues in
            defer { issues = [] }
            return issues
        }
    }
}
