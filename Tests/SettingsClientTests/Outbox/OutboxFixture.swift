import Platform
import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// A suite on a server, and programs with an outbox. A test can disconnect each program from the server.
final class OutboxFixture: Sendable {
    /// A program. It ends when the test releases it.
    struct Program {
        let defaults: DefaultsAdapter<ClientKeys>
        /// The connection of the program to the server.
        let link: FlakyBackend

        /// The value of a key that the program reads.
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
        server = try InMemoryBackend(suite: suite, schema: schema)
    }

    /// Starts another program, which loads the suite unless the server is unreachable. With the default interval, it
    /// searches for the files of ended programs only when it starts.
    func program(
        isServerUnreachable: Bool = false, limits: OutboxStore.Limits = .init(), timeout: Duration = .seconds(20),
        writes: WriteMode = .confirmed,
        abandonedFileSearchInterval: Duration = .seconds(1000), log: (@Sendable (DefaultsIssue) -> Void)? = nil
    ) -> Program {
        let link = FlakyBackend(server)
        if isServerUnreachable { link.disconnect() }
        let owner = FileOwner(server: "memory", suite: suite)
        let store = OutboxStore(in: directory.path + "/outbox", of: owner, files: files, limits: limits)
        // With the outage timeout zero, callers do not wait after a failed attempt to send a write.
        let session = SuiteSession(
            link, outbox: store,
            options: .init(
                timeout: timeout, outageTimeout: .zero, abandonedFileSearchInterval: abandonedFileSearchInterval))
        let handler = DefaultsLog(issues: { [weak issues] issue in
            issues?.add(issue)
            log?(issue)
        })
        let defaults = issues.collect(
            from: DefaultsAdapter(keyStore: ClientKeys(), session: session, writes: writes, log: handler))
        if !isServerUnreachable { try? defaults.core.load(until: .now + .seconds(20)) }
        return Program(defaults: defaults, link: link)
    }

    /// Releases a program, and waits until its outbox file is unlocked: work in progress may retain the session for a
    /// moment. Returns false after `Deadline.patience` seconds. If no outbox file is locked before the release, waits
    /// only for the session.
    func end(_ program: inout Program?) -> Bool {
        let lockedFiles = LockedOutboxFiles(directory: directory.path)
        let countBefore = lockedFiles.count
        weak let session = program?.defaults.core.session
        program = nil
        return lockedFiles.waits { session == nil && (countBefore == 0 || $0 < countBefore) }
    }

    /// Runs a program that sets `loginTries` and ends before its write is sent. Returns false if the outbox file stays
    /// locked.
    func leaveWaitingWrite(loginTries: Int) -> Bool {
        var program: Program? = program(isServerUnreachable: true)
        program?.defaults.loginTries = loginTries
        return end(&program)
    }

    /// The value of a key on the server. Nil if the key has no value.
    func stored(_ name: String) -> JSONValue? {
        (try? KeyName(name)).flatMap { (try? server.setting($0))?.value }
    }

    /// The writes that wait in the unlocked outbox files for the next program. Like the start of a program, a read of
    /// this property moves the writes into one new outbox file.
    var waitingWrites: [PendingChange] {
        let owner = FileOwner(server: "memory", suite: suite)
        var store = OutboxStore(in: directory.path + "/outbox", of: owner)
        return store.adoptAbandonedWrites().writes
    }

    /// The number of writes in all outbox files, including the file that a running program has locked.
    var storedCount: Int {
        get throws {
            let folder = directory.path + "/outbox"
            return try POSIXFileSystem().list(folder).reduce(0) { count, name in
                let bytes = try OpenFile("\(folder)/\(name)", .writing, in: POSIXFileSystem()).readAll()
                return try count + OutboxContents(bytes).writes.count
            }
        }
    }

    /// The number of files in the directory of the outbox.
    var fileCount: Int {
        (try? POSIXFileSystem().list(directory.path + "/outbox"))?.count ?? 0
    }

    /// Returns the issues since the last call.
    func drainIssues() -> [DefaultsIssue] {
        issues.drain()
    }

    /// Returns the issues since the last call, without reports that the keys of a program differ from the schema.
    func drainIssuesOtherThanSchemaChecks() -> [DefaultsIssue] {
        drainIssues().filter { $0.attempt != .check }
    }
}
