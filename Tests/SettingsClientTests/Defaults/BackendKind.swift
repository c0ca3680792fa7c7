import ClientTestSupport
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// The kind of backend that stores a suite. Most tests of an adapter run with all kinds.
enum BackendKind: CaseIterable, Sendable {
    /// In this program's memory.
    case memory
    /// The same, with outbox and cache.
    case memoryWithFiles
    /// In a daemon that is reached over TCP.
    case tcp
    /// In a daemon that is reached over a Unix domain socket.
    case unixSocket

    /// The kinds that differ for an adapter. The tests of the HTTP client compare the two kinds of sockets, so only a few
    /// tests of adapters use TCP, too.
    static let allCases: [BackendKind] = [.memory, .memoryWithFiles, .unixSocket]
    static let allCasesWithTCP = allCases + [.tcp]

    /// A suite of its own, empty.
    func world(schema: Schema? = nil) throws -> World {
        let suite = try SuiteName("com.example.app")
        switch self {
        case .memory:
            let backend = InMemoryBackend(suite: suite, schema: schema)
            return World { backend }
        case .memoryWithFiles:
            let directory = try TemporaryDirectory()
            let backend = FlakyBackend(InMemoryBackend(suite: suite, schema: schema), retaining: directory)
            let files = FileLocation.directory(directory.path)
            return World(files: files) { backend }
        case .tcp: return try World(served: suite, .tcp, schema)
        case .unixSocket: return try World(served: suite, .unix, schema)
        }
    }
}

/// A suite that several adapters may use, as several programs would, and what they complain of.
final class World: Sendable {
    private let makeBackend: @Sendable () -> any SuiteBackend
    /// The daemon, if there is one. It lasts as long as an adapter that uses it.
    private let daemon: ServedDaemon?
    /// Where each program has its outbox and its cache.
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

    /// A suite of a daemon of its own.
    fileprivate convenience init(
        served suite: SuiteName, _ transport: ServedDaemon.Transport, _ schema: Schema?
    ) throws {
        let daemon = try ServedDaemon()
        if let schema { try daemon.client().blocking.send(.setSchema(schema.document, of: suite)) }
        self.init(at: try daemon.address(transport), suite, of: daemon)
    }

    /// A suite of a server, for programs that have connections of their own and are so patient.
    convenience init(
        at address: ServerAddress, _ suite: SuiteName, timeout: Duration = .seconds(20), of daemon: ServedDaemon? = nil
    ) {
        self.init(of: daemon, timeout: timeout) {
            RemoteBackend(suite: suite, server: SharedServer(address), timeout: timeout)
        }
    }

    /// Another way to the suite.
    func backend() -> any SuiteBackend {
        makeBackend()
    }

    /// Another program that uses the suite, with files if the kind has files and the caller does not say otherwise.
    func adapter<Keys: DefaultsKeyStore>(
        _ keys: Keys, arguments: [String] = [], session: SuiteSession? = nil, timeout: Duration? = nil,
        writes: WriteMode = .confirmed
    ) -> DefaultsAdapter<Keys> {
        let session =
            session
            ?? SuiteSession(makeBackend(), outbox: files, cache: files, of: .usual, timeout: timeout ?? self.timeout)
        let log = DefaultsLog(issues: { [weak issues, daemon] issue in
            withExtendedLifetime(daemon) {}
            issues?.add(issue)
        })
        return issues.collect(
            from: DefaultsAdapter(keyStore: keys, session: session, arguments: arguments, writes: writes, log: log))
    }

    /// Another program that uses the suite, with the keys of these tests.
    func adapter(
        arguments: [String] = [], timeout: Duration? = nil, writes: WriteMode = .confirmed
    ) -> DefaultsAdapter<ClientKeys> {
        adapter(ClientKeys(), arguments: arguments, timeout: timeout, writes: writes)
    }

    /// What was complained of since this was asked last.
    func drainIssues() -> [DefaultsIssue] {
        issues.drain()
    }
}
