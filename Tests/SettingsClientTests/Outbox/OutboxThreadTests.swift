import ClientTestSupport
import Dispatch
import Platform
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// The outbox file keeps the writes that the daemon has not answered yet. Async methods use the file only on the client
/// thread (the thread that runs the sessions of all adapters), so that a slow disk does not block the thread of a
/// caller.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct OutboxThreadTests {
    private let directory: TemporaryDirectory
    private let files = FaultyFiles()
    private let backend: InMemoryBackend

    init() throws {
        directory = try TemporaryDirectory()
        backend = InMemoryBackend(suite: try SuiteName("app"))
    }

    private func session() -> SuiteSession {
        let owner = FileOwner(server: "memory", suite: backend.suite)
        let store = OutboxStore(in: directory.path + "/outbox", of: owner, files: files)
        return SuiteSession(backend, outbox: store, options: .init(timeout: .seconds(Deadline.patience)))
    }

    @Test("An async method that moves the value of a renamed key does no file operation on the calling thread")
    func renamedKey() async throws {
        // In `RenameTests.NewKeys`, `folders` is a former name of the key `libraries`.
        let old = DefaultsAdapter(keyStore: RenameTests.OldKeys(), session: SuiteSession(backend))
        try await old.set(\.folders, ["a"])
        let callsOutsideClientThread = EventLog()
        // The closure runs before each call of the file system. With the result nil, the call does not fail.
        files.fail { call, _ in
            if !ClientThread.shared.isCurrent { callsOutsideClientThread.add("\(call)") }
            return nil
        }
        let defaults = DefaultsAdapter(keyStore: RenameTests.NewKeys(), session: session())
        #expect(try await defaults.value(\.libraries) == ["a"])
        #expect(files.log.count("write") > 0 && callsOutsideClientThread.all == [])
    }

    @Test("An async method adds its write to the queue while another write of the suite waits for the disk")
    func slowDisk() async throws {
        let session = session()
        _ = try await session.commit(change("first"))
        let (log, gate) = (EventLog(), DispatchSemaphore(value: 0))
        files.fail { call, _ in
            guard call == .write else { return nil }
            log.add("writing")
            if gate.wait(timeout: .now() + 20) == .timedOut { log.add("timed out") }
            return nil
        }
        // The client thread writes this change to the outbox file, and waits there for `gate`. Async methods add their
        // writes with the same function.
        try session.enqueueInBackground(change("second"), waiter: Promise())
        #expect(await log.waits(for: "writing"))
        let third = try change("third")
        DispatchQueue(label: "caller").async {
            try? session.enqueueInBackground(third, waiter: Promise())
            log.add("added")
        }
        #expect(await log.waits(for: "added"))
        #expect(log.all == ["writing", "added"])
        files.repair()
        gate.signal()
        try await session.flush(until: .now + .seconds(Deadline.patience))
    }

    private func change(_ value: String) throws -> PendingChange {
        let operation = Transaction.Operation(suite: backend.suite, key: try KeyName("k"), .set(.string(value)))
        return PendingChange(action: .transaction(Transaction(if: [], do: [operation])), requestKey: .unique())
    }
}
