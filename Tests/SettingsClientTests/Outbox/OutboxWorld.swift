import Platform
import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// A suite on a server that can be away, and programs with an outbox.
final class OutboxWorld: Sendable {
    /// One program, until it is let go of.
    struct Program {
        let defaults: DefaultsAdapter<ClientKeys>
        /// Its connection to the server.
        let link: FlakyBackend

        /// The value of a name as the program sees it.
        subscript(_ name: String) -> JSONValue? { defaults[name].value }
    }

    let server: InMemoryBackend
    let files = FaultyFiles()
    private let directory: TemporaryDirectory
    private let issues = IssueCollector()
    private let suite: SuiteName

    init(schema: Schema? = nil) throws {
        suite = try SuiteName("com.example.app")
        directory = try TemporaryDirectory()
        server = InMemoryBackend(suite: suite, schema: schema)
    }

    /// Makes another program, which has loaded the suite unless the server is away.
    func program(
        isServerUnreachable: Bool = false, limits: OutboxStore.Limits = .init(), timeout: Duration = .seconds(20),
        writes: WriteMode = .confirmed,
        searchInterval: Duration = .seconds(1000), log: (@Sendable (DefaultsIssue) -> Void)? = nil
    ) -> Program {
        let link = FlakyBackend(server)
        if isServerUnreachable { link.disconnect() }
        let owner = FileOwner(server: "memory", suite: suite)
        let store = OutboxStore(in: directory.path + "/outbox", of: owner, files: files, limits: limits)
        let session = SuiteSession(
            link, outbox: store,
            options: .init(timeout: timeout, outageTimeout: .zero, abandonedFileSearchInterval: searchInterval))
        let handler = DefaultsLog(issues: { [weak issues] issue in
            issues?.add(issue)
            log?(issue)
        })
        let defaults = issues.collect(
            from: DefaultsAdapter(keyStore: ClientKeys(), session: session, writes: writes, log: handler))
        if !isServerUnreachable { try? defaults.core.load(until: .now + .seconds(20)) }
        return Program(defaults: defaults, link: link)
    }

    /// Releases a program, and waits until its file is unlocked: work in progress may retain it for a moment.
    func end(_ program: inout Program?) -> Bool {
        let openFiles = OpenFiles(directory: directory.path)
        let before = openFiles.count
        weak let session = program?.defaults.core.session
        program = nil
        return openFiles.waits { session == nil && (before == 0 || $0 < before) }
    }

    /// Has a program leave a write behind, which stores 7 for `loginTries`.
    func leaveWaitingWrite() -> Bool {
        var program: Program? = program(isServerUnreachable: true)
        program?.defaults.loginTries = 7
        return end(&program)
    }

    /// The value of a name on the server.
    subscript(_ name: String) -> JSONValue? {
        (try? KeyName(name)).flatMap { (try? server.setting($0))?.value }
    }

    /// How many writes wait on disk for the next program.
    var waiting: [PendingChange] {
        let owner = FileOwner(server: "memory", suite: suite)
        var store = OutboxStore(in: directory.path + "/outbox", of: owner)
        return store.inherit().writes
    }

    /// The number of writes in all files, also in the file that a running program has locked.
    var storedCount: Int {
        get throws {
            let folder = directory.path + "/outbox"
            return try POSIXFileSystem().list(folder).reduce(0) { count, name in
                let bytes = try OpenFile("\(folder)/\(name)", .writing, in: POSIXFileSystem()).readAll()
                return try count + OutboxContents(bytes).writes.count
            }
        }
    }

    /// How many files there are.
    var fileCount: Int {
        (try? POSIXFileSystem().list(directory.path + "/outbox"))?.count ?? 0
    }

    /// Returns the issues since the last call.
    func drainIssues() -> [DefaultsIssue] {
        issues.drain()
    }
}
