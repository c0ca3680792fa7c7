import Synchronization
import Testing

@testable import SettingsClient

/// A place where a suite can live. Every case of how an adapter behaves is written once and run in each.
enum Place: CaseIterable, Sendable {
    /// In this program's memory.
    case memory

    /// A suite of its own, empty.
    func world(schema: Schema? = nil) throws -> World {
        switch self {
        case .memory:
            let backend = InMemoryBackend(suite: try SuiteName("com.example.app"), schema: schema)
            return World { backend }
        }
    }
}

/// A suite that several adapters may use, as several programs would, and what they complain of.
final class World: Sendable {
    private let makeBackend: @Sendable () -> any SuiteBackend
    private let issues = Mutex<[DefaultsIssue]>([])

    init(_ makeBackend: @escaping @Sendable () -> any SuiteBackend) {
        self.makeBackend = makeBackend
    }

    /// Another way to the suite.
    func backend() -> any SuiteBackend {
        makeBackend()
    }

    /// Another program that uses the suite.
    func adapter<Keys: DefaultsKeyStore>(
        _ keys: Keys, arguments: [String] = [], backend: (any SuiteBackend)? = nil
    ) -> DefaultsAdapter<Keys> {
        DefaultsAdapter(keyStore: keys, backend: backend ?? makeBackend(), arguments: arguments) { [weak self] issue in
            self?.issues.withLock { $0.append(issue) }
        }
    }

    /// Another program that uses the suite, with the keys of these tests.
    func adapter(arguments: [String] = []) -> DefaultsAdapter<ClientKeys> {
        adapter(ClientKeys(), arguments: arguments)
    }

    /// What was complained of since this was asked last.
    func takeIssues() -> [DefaultsIssue] {
        issues.withLock { issues in
            defer { issues = [] }
            return issues
        }
    }
}
