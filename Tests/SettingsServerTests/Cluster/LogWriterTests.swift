import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

@testable import SettingsCluster

/// The keys of daemons in etcd outside of the log: claims, parts of large batches, snapshots and their lock. If other
/// daemons write a batch first (the transaction is *overtaken*) several times, a daemon puts the key *claim*, so that
/// the other daemons let this daemon write the next batch.
@Suite(.ownThread)
struct LogWriterTests {
    private let etcd: EtcdCluster
    private let keys = LogKeys("settingsd/test")
    /// The head of the first batch of the log. A head identifies a batch.
    private let first: LogHead
    /// A state that is large enough for a snapshot with several parts.
    private let state: State
    private let directory: TemporaryDirectory

    init() throws {
        etcd = try EtcdCluster()
        directory = try TemporaryDirectory()
        let epoch = try #require(Epoch("e0"))
        first = .beginning(epoch, writer: "other")
        var staged = StagedState(State(epoch: epoch))
        _ = try staged.write(
            WriteRequest(
                .setting(
                    Transaction.Operation(
                        suite: try SuiteName("app"), key: try KeyName("a"),
                        .set(.string(String(repeating: "x", count: 3_000_000)))))),
            at: Timestamp(milliseconds: 1000))
        state = staged.state
        var client = makeClient()
        try client.beginLog(LogEntry(first, lines: []), keys, by: deadline())
    }

    private func makeClient() -> EtcdClient {
        var options = EtcdOptions()
        options.endpoints = etcd.endpoints.compactMap { EtcdEndpoint($0) }
        return EtcdClient(options)
    }

    /// Returns a deadline for a call that must succeed.
    private func deadline() -> ContinuousClock.Instant { .now + .seconds(Deadline.patience) }

    /// Returns the writer of the daemon `me`, which has applied the first batch.
    private func writer() -> LogWriter {
        LogWriter(makeClient(), keys, daemon: "me", LogInbox(applied: first, lastContact: .now))
    }

    /// Returns the keys in a range; without an end, only the key itself if it exists.
    private func existingKeys(_ client: inout EtcdClient, from key: String, to end: String? = nil) throws -> [String] {
        let range = EtcdRange(key: key, end: end, omitsValues: true)
        return try client.call(EtcdTransaction(success: [.range(range)]), by: deadline()).ranges[0].map(\.key)
    }

    /// Returns a batch of the daemon `me` after the batch with the head `end`. The content of the lines has no meaning.
    private func entry(after end: LogHead, bytes: Int = 10) throws -> LogEntry {
        let parts = bytes > LogKeys.partSize ? 2 : 0
        let head = end.next(to: try #require(Revision(1)), bytes: bytes, parts: parts, writer: "me")
        return LogEntry(head, lines: [UInt8](repeating: 10, count: bytes))
    }

    private func isDone(_ outcome: LogWriter.Outcome) -> Bool { if case .done = outcome { true } else { false } }

    @Test("If the answer to a claim was lost, the claim does not delay the next write of its daemon")
    func lostClaim() throws {
        var (client, writer) = (makeClient(), writer())
        // The writer of the daemon `me` does not know that etcd has this claim.
        _ = try client.call(EtcdTransaction(success: [.put(keys.claim, Array("me".utf8))]), by: deadline())
        #expect(isDone(writer.write(try entry(after: first), after: first, by: deadline())))
        #expect(try existingKeys(&client, from: keys.claim).isEmpty)
    }

    @Test("If a daemon makes a claim and writes no batch, the next batch of another daemon deletes the claim")
    func revoked() throws {
        var (client, writer) = (makeClient(), writer())
        // The claim has no lease, so it ends only if a daemon deletes it.
        _ = try client.call(EtcdTransaction(success: [.put(keys.claim, Array("other".utf8))]), by: deadline())
        #expect(isDone(writer.write(try entry(after: first), after: first, by: deadline())))
        #expect(try existingKeys(&client, from: keys.claim).isEmpty)
    }

    /// Makes attempts to write an entry after an outdated end of the log. Each attempt is overtaken.
    private func attemptOutdatedWrites(_ count: Int, _ writer: inout LogWriter) throws {
        for _ in 0..<count { #expect(!isDone(writer.write(try entry(after: first), after: first, by: deadline()))) }
    }

    @Test("A daemon deletes its claim when no write waits")
    func released() throws {
        var (client, writer) = (makeClient(), writer())
        let second = try entry(after: first)
        #expect(isDone(writer.write(second, after: first, by: deadline())))
        // After five overtaken attempts, the sixth attempt makes a claim.
        try attemptOutdatedWrites(6, &writer)
        #expect(try existingKeys(&client, from: keys.claim) == [keys.claim])
        // An empty batch: no write waits.
        #expect(isDone(writer.write(JournalBatch(), after: second.head, by: deadline())))
        #expect(try existingKeys(&client, from: keys.claim).isEmpty)
    }

    @Test("If a claim expires before the daemon could write, the daemon makes the claim again")
    func madeAgain() throws {
        var (client, writer) = (makeClient(), writer())
        #expect(isDone(writer.write(try entry(after: first), after: first, by: deadline())))
        // After five overtaken attempts, the sixth attempt makes a claim.
        try attemptOutdatedWrites(6, &writer)
        // Deletes the claim, as etcd does when a lease expires.
        _ = try client.call(EtcdTransaction(success: [.delete(keys.claim)]), by: deadline())
        try eventually {
            try attemptOutdatedWrites(1, &writer)
            return try existingKeys(&client, from: keys.claim) == [keys.claim]
        }
    }

    @Test("The parts of an overtaken batch are deleted")
    func lostParts() throws {
        var (client, writer) = (makeClient(), writer())
        let second = try entry(after: first)
        #expect(isDone(writer.write(second, after: first, by: deadline())))
        let large = try entry(after: first, bytes: LogKeys.partSize + 1)
        #expect(!isDone(writer.write(large, after: first, by: deadline())))
        // All keys that begin with `settingsd/test/parts/`, because the character 0 follows the slash in ASCII.
        let all = (from: "settingsd/test/parts/", to: "settingsd/test/parts0")
        #expect(try existingKeys(&client, from: all.from, to: all.to).isEmpty)
        let next = try entry(after: second.head, bytes: LogKeys.partSize + 1)
        #expect(isDone(writer.write(next, after: second.head, by: deadline())))
        #expect(try existingKeys(&client, from: all.from, to: all.to).count == 2)
    }

    private func snapshotKeys(_ client: inout EtcdClient) throws -> [String] {
        try existingKeys(&client, from: "settingsd/test/snapshots/", to: "settingsd/test/snapshots0")
    }

    /// `replacing` and `keeping` are the previous snapshot: nil, because there is none.
    @Test("Only one daemon at a time puts a snapshot, and a daemon that lost the lock changes nothing")
    func snapshotLock() throws {
        var client = makeClient()
        var lock = try #require(try SnapshotLock(&client, keys))
        #expect(try SnapshotLock(&client, keys) == nil)
        // Deletes the lock, as etcd does when a lease expires.
        _ = try client.call(EtcdTransaction(success: [.delete(keys.snapshotLock)]), by: deadline())
        var nextLock = try #require(try SnapshotLock(&client, keys))
        let error = #expect(throws: EtcdError.self) {
            try lock.putSnapshot(
                state, at: first, replacing: nil, in: DataDirectory(directory.path), isCancelled: { false }, &client)
        }
        #expect(error?.description.contains("another daemon") ?? false)
        lock.release(keeping: nil, &client, by: deadline())
        try nextLock.putSnapshot(
            state, at: first, replacing: nil, in: DataDirectory(directory.path), isCancelled: { false }, &client)
        nextLock.release(keeping: nil, &client, by: deadline())
        let pointer = try #require(try client.readSnapshotPointer(keys, by: deadline()))
        #expect(try snapshotKeys(&client).count == pointer.parts)
        let limits = History.Limits()
        let read = try client.readSnapshot(
            pointer, keys, limits: limits, in: DataDirectory(directory.path), by: deadline())
        #expect(read.revision == state.revision)
        #expect(try SnapshotLock(&client, keys) != nil, "the lock must be free after its release")
    }

    @Test("The parts of an interrupted snapshot are deleted by its daemon or by the next owner of the lock")
    func leftovers() throws {
        var client = makeClient()
        // `putSnapshot` calls `isCancelled` before each part. The second call stops the snapshot.
        var calls = 0
        var lock = try #require(try SnapshotLock(&client, keys))
        #expect(throws: EtcdError.self) {
            try lock.putSnapshot(
                state, at: first, replacing: nil, in: DataDirectory(directory.path),
                isCancelled: {
                    calls += 1
                    return calls > 1
                }, &client)
        }
        #expect(try snapshotKeys(&client).count == 1)
        lock.release(keeping: nil, &client, by: deadline())
        #expect(try snapshotKeys(&client).isEmpty)

        // A daemon deletes the parts of an interrupted snapshot before it puts the first part of its own snapshot.
        let leftoverPart = keys.snapshotPart(0, of: "killed")
        _ = try client.call(EtcdTransaction(success: [.put(leftoverPart, [1])]), by: deadline())
        var nextLock = try #require(try SnapshotLock(&client, keys))
        #expect(throws: EtcdError.self) {
            try nextLock.putSnapshot(
                state, at: first, replacing: nil, in: DataDirectory(directory.path), isCancelled: { true }, &client)
        }
        #expect(try snapshotKeys(&client).isEmpty)
    }
}
