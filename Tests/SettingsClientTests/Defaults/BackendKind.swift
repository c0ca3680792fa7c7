import ClientTestSupport
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// The kind of backend that stores a suite. Most tests of an adapter run with each kind in `allCases`.
enum BackendKind: CaseIterable, Sendable {
    /// The memory of this program.
    case memory
    /// The memory of this program. The adapters have an outbox file and a cache file.
    case memoryWithFiles
    /// A daemon, over TCP.
    case tcp
    /// A daemon, over a Unix domain socket.
    case unixSocket

    /// All kinds except `tcp`. Only a few tests of adapters use TCP, because the tests of the HTTP client compare TCP
    /// with Unix domain sockets.
    static let allCases: [BackendKind] = [.memory, .memoryWithFiles, .unixSocket]
    static let allCasesWithTCP = allCases + [.tcp]

    /// Creates a suite without values, which no other test uses.
    func fixture(schema: Schema? = nil) throws -> SuiteFixture {
        let suite = try SuiteName("com.example.app")
        switch self {
        case .memory:
            let backend = try InMemoryBackend(suite: suite, schema: schema)
            return SuiteFixture { backend }
        case .memoryWithFiles:
            let directory = try TemporaryDirectory()
            // This backend fails no request. It only retains the directory, because the client saves a cache file when
            // an adapter is deallocated.
            let backend = FlakyBackend(try InMemoryBackend(suite: suite, schema: schema), retaining: directory)
            let files = FileLocation.directory(directory.path)
            return SuiteFixture(files: files) { backend }
        case .tcp: return try SuiteFixture(served: suite, .tcp, schema)
        case .unixSocket: return try SuiteFixture(served: suite, .unix, schema)
        }
    }
}

/// A suite, adapters that stand for the programs that use the suite, and the issues that the adapters report.
final class SuiteFixture: Sendable {
    private let makeBackend: @Sendable () -> any SuiteBackend
    /// The daemon that stores the suite. Nil for a suite in memory. The log of each adapter also retains the daemon, so
    /// that it runs while an adapter exists.
    private let daemon: ServedDaemon?
    /// The location of the outbox files and the cache files.
    private let files: FileLocation
    private let timeout: Duration
    private let issues = IssueCollector()

    init(
        of daemon: ServedDaemon? = nil, files: FileLocation = .none, timeout: Duration = .seconds(20),
        _ makeBackend: @escaping @Sendable () -> any SuiteBackend
    ) {
        self.daemon = daemon
        self.files = files
        self.timeout = timeout
        self.makeBackend = makeBackend
    }

    /// Creates a suite of a new daemon.
    fileprivate convenience init(
        served suite: SuiteName, _ transport: ServedDaemon.Transport, _ schema: Schema?
    ) throws {
        let daemon = try ServedDaemon()
        if let schema { try daemon.client().blocking.send(.setSchema(schema.document, of: suite)) }
        self.init(at: try daemon.address(transport), suite, of: daemon)
    }

    /// Uses a suite of a running server. Each adapter has its own connections and this timeout.
    convenience init(
        at address: ServerAddress, _ suite: SuiteName, timeout: Duration = .seconds(20), of daemon: ServedDaemon? = nil
    ) {
        self.init(of: daemon, timeout: timeout) {
            RemoteBackend(suite: suite, server: SharedServer(address), timeout: timeout)
        }
    }

    /// Returns a backend for the suite. For a suite in memory, each call returns the same backend. For a suite of a
    /// daemon, each call returns a new backend.
    func backend() -> any SuiteBackend {
        makeBackend()
    }

    /// Returns another adapter for the suite. Without the argument `session`, the adapter gets a new session, the
    /// connection of an adapter to its suite. The directories of the outbox and cache files are named after a server
    /// address, here `.usual`, which no test contacts.
    func adapter<Keys: DefaultsKeyStore>(
        _ keys: Keys, arguments: [String] = [], session: SuiteSession? = nil, timeout: Duration? = nil,
        writes: WriteMode = .confirmed
    ) -> DefaultsAdapter<Keys> {
        let session =
            session
            ?? SuiteSession(
                makeBackend(), outbox: files, cache: files, server: .usual, timeout: timeout ?? self.timeout)
        let log = DefaultsLog(issues: { [weak issues, daemon] issue in
            withExtendedLifetime(daemon) {}
            issues?.add(issue)
        })
        return issues.collect(
            from: DefaultsAdapter(keyStore: keys, session: session, arguments: arguments, writes: writes, log: log))
    }

    /// Returns another adapter for the suite, with the keys of these tests. With `.confirmed`, a setter waits for the
    /// answer of the backend.
    func adapter(
        arguments: [String] = [], timeout: Duration? = nil, writes: WriteMode = .confirmed
    ) -> DefaultsAdapter<ClientKeys> {
        adapter(ClientKeys(), arguments: arguments, timeout: timeout, writes: writes)
    }

    /// Returns the issues that the adapters have reported since the last call.
    func drainIssues() -> [DefaultsIssue] {
        issues.drain()
    }
}
