import Glibc
import SettingsModel
import Synchronization
import TestSupport

@testable import SettingsClient

/// A suite on a server that can be away, and programs that keep what they cannot send.
final class KeptWorld: Sendable {
    /// One program, until it is let go of.
    struct Program {
        let defaults: DefaultsAdapter<ClientKeys>
        /// What it has of the server.
        let link: FlakyBackend

        /// What the program sees of a name.
        subscript(_ name: String) -> JSONValue? { defaults[name].value }
    }

    let server: InMemoryBackend
    let files = FaultyFiles()
    private let directory: TemporaryDirectory
    private let issues = Mutex<[DefaultsIssue]>([])
    private let suite: SuiteName

    init(schema: Schema? = nil) throws {
        suite = try SuiteName("com.example.app")
        directory = try TemporaryDirectory()
        server = InMemoryBackend(suite: suite, schema: schema)
    }

    /// Another program, for which somebody is there or not.
    func program(
        isAway: Bool = false, limits: OutboxStore.Limits = .init(), patience: Duration = .seconds(20),
        lookInterval: Duration = .seconds(1000), log: (@Sendable (DefaultsIssue) -> Void)? = nil
    ) -> Program {
        let link = FlakyBackend(server)
        if isAway { link.leave() }
        let owner = OutboxOwner(server: "memory", suite: suite)
        let folder = OutboxFolder(path: directory.path + "/outbox", owner: owner, files: files)
        let backend = OutboxBackend(
            link, OutboxStore(folder, limits: limits), patience: patience, lookInterval: lookInterval)
        let defaults = DefaultsAdapter(keyStore: ClientKeys(), backend: backend) { [weak self] issue in
            self?.issues.withLock { $0.append(issue) }
            log?(issue)
        }
        return Program(defaults: defaults, link: link)
    }

    /// Lets go of a program, and waits until it has let go of its file: what it was just about may hold it for a moment.
    func end(_ program: inout Program?) -> Bool {
        let before = heldFiles
        weak let backend = program?.defaults.core.backend
        program = nil
        let limit = ContinuousClock.now + .seconds(20)
        while backend != nil || before > 0 && heldFiles == before {
            guard ContinuousClock.now < limit else { return false }
            poll(nil, 0, 1)
        }
        return true
    }

    /// How many files some program has.
    private var heldFiles: Int {
        let machine = MachineFiles()
        let path = directory.path + "/outbox"
        return ((try? machine.list(path)) ?? []).count { name in
            let file = try? HeldFile("\(path)/\(name)", .existing, in: machine)
            return (try? file?.lock()) == false
        }
    }

    /// What the server has under a name.
    subscript(_ name: String) -> JSONValue? {
        (try? KeyName(name)).flatMap { (try? server.setting($0))?.value }
    }

    /// How many writes wait on disk for the next program.
    var waiting: [SuiteWrite] {
        let owner = OutboxOwner(server: "memory", suite: suite)
        var store = OutboxStore(OutboxFolder(path: directory.path + "/outbox", owner: owner, files: MachineFiles()))
        return store.inherit().writes
    }

    /// How many files there are.
    var fileCount: Int {
        (try? MachineFiles().list(directory.path + "/outbox"))?.count ?? 0
    }

    /// What was complained of since this was asked last.
    func takeIssues() -> [DefaultsIssue] {
        issues.withLock { issues in
            defer { issues = [] }
            return issues
        }
    }
}
