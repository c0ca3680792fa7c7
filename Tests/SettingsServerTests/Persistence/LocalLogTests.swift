import Glibc
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsStorage

@Suite(.ownThread)
struct LocalLogTests {
    /// Opens a log in an empty directory.
    private func harness(_ setup: LogHarness.Setup = LogHarness.Setup()) throws -> LogHarness {
        let harness = try LogHarness(SimulatedDisk(), setup, seed: 11)
        try harness.open()
        return harness
    }

    /// Options with a limit that no journal reaches, so the length of the journal causes no snapshot. A snapshot is due
    /// after 300 seconds.
    private func setupWithLargeJournal(_ durability: Durability = .always) -> LogHarness.Setup {
        LogHarness.Setup(durability: durability, journalBytes: 1 << 30)
    }

    @Test("On a full disk, writes have the outcome notDone and the log names the cause; with space, writes succeed")
    func full() throws {
        let harness = try harness(setupWithLargeJournal())
        try harness.writeBatch()
        let before = harness.newestState
        harness.disk.fail(.write, with: ENOSPC)
        for _ in 0..<3 {
            try harness.writeBatch()
            harness.performMaintenance()
            #expect(
                harness.log?.writeFailureReason?.contains("No space left") == true,
                "the log must name the full disk while writes are refused")
        }
        #expect(harness.statesWithUnknownOutcome.isEmpty)
        #expect(harness.newestState?.revision == before?.revision)
        harness.disk.fail(.write, with: nil)
        harness.performMaintenance()
        #expect(harness.log?.writeFailureReason == nil, "the log must accept writes again")
        try harness.writeBatch()
        #expect(harness.newestState?.revision != before?.revision)
        #expect(harness.log?.writeFailureReason == nil)
        try expectSameStateAfterCrash(harness)
    }

    /// A disk that accepts no writes, defined by the calls that fail and by the code of their error.
    struct Unwritable: CustomTestStringConvertible, Sendable {
        var code: Int32
        var calls: [FileError.Call]

        var testDescription: String { FileError(.write, "", code: code).description }
    }

    @Test(
        "A start on an unwritable disk serves reads, and accepts writes when the disk is writable",
        arguments: [
            Unwritable(code: ENOSPC, calls: [.write, .preallocate]),
            Unwritable(code: EDQUOT, calls: [.write, .preallocate]),
            Unwritable(code: EROFS, calls: [.write, .preallocate, .truncate, .rename, .remove]),
        ], Durability.allCases)
    func startsUnwritable(_ disk: Unwritable, _ durability: Durability) throws {
        let harness = try harness(setupWithLargeJournal(durability))
        for _ in 0..<3 { try harness.writeBatch() }
        try harness.close()
        let before = try #require(harness.newestState)
        // The first daemon stops while the disk is unwritable, and the second daemon runs until the disk is writable.
        for closes in [true, false] {
            harness.crash(.everything)
            for call in disk.calls { harness.disk.fail(call, with: disk.code) }
            try harness.open()
            try expectState(harness, before)
            let reason = FileError(.write, "", code: disk.code).reason
            #expect(
                harness.log?.writeFailureReason?.contains(reason) == true,
                "\(harness.log?.writeFailureReason ?? "ready")")
            harness.performMaintenance()
            try harness.writeBatch()
            try expectState(harness, before)
            #expect(harness.statesWithUnknownOutcome.isEmpty)
            if closes { try harness.close() }
        }
        #expect(try harness.acceptsWriteAfterHealing(), "\(harness.log?.writeFailureReason ?? "the write failed")")
        let after = try #require(harness.newestState)
        try harness.close()
        harness.crash(.syncedOnly)
        try harness.open()
        try expectState(harness, after)
    }

    @Test("After a failed sync, the journal is never written again, and its unsynced content is ignored")
    func failedSync() throws {
        let harness = try harness(setupWithLargeJournal())
        try harness.writeBatch()
        let before = try #require(harness.published.last)
        harness.disk.fail(.syncData, with: EIO)
        try harness.writeBatch()
        harness.disk.fail(.syncData, with: nil)
        #expect(!harness.statesWithUnknownOutcome.isEmpty)
        #expect(harness.log?.writeFailureReason != nil)
        let journal = try #require(harness.disk.content("journal-0.jsonl"))
        harness.performMaintenance()
        #expect(harness.log?.writeFailureReason == nil)
        #expect(harness.disk.content("journal-0.jsonl") == journal)
        #expect(harness.disk.names.contains("journal-\(before.revision).jsonl"))
        harness.crash(.everything)
        try harness.open()
        try expectState(harness, before)
    }

    @Test("Values that are replaced during a snapshot count against the memory budget until the snapshot ends")
    func replacedValues() throws {
        let charged = Atomic(0)
        var options = LocalLog.Options(durability: .always)
        options.chargeReplaced = { charged.store($0, ordering: .relaxed) }
        var snapshots = SnapshotSchedule(latestRevision: .zero, bytesSinceSnapshot: 0, options, now: 0)
        snapshots.recordCommits(bytes: 1_000_000, replacedBytes: 2_000_000)
        #expect(charged.load(ordering: .relaxed) == 0)
        let state = State(epoch: try #require(Epoch("e")))
        snapshots.beginSnapshot(of: state, journal: .zero, in: DataDirectory("/data", in: SimulatedDisk()))
        for bytes in [1_000_000, 0, 500_000] { snapshots.recordCommits(bytes: 1_000, replacedBytes: bytes) }
        #expect(charged.load(ordering: .relaxed) == 1_500_000)
        try eventually {
            _ = snapshots.collectResult(now: { 1 }, LogHarness.quiet)
            return charged.load(ordering: .relaxed) == 0
        }
    }

    @Test("A failed snapshot is retried later and has no other effect")
    func failedSnapshot() throws {
        let harness = try harness(setupWithLargeJournal())
        try harness.writeBatch()
        // The call `writeBack` is a part of writing a snapshot. A snapshot is due after 300 seconds.
        harness.disk.fail(.writeBack, with: EIO)
        harness.disk.fail(.rename, with: ENOSPC)
        harness.performMaintenance(after: .seconds(400))
        // The log begins a journal before it writes the snapshot. The new journal may exist although its rename failed.
        // The log appends no commit until it has a journal that certainly exists.
        harness.disk.fail(.rename, with: nil)
        harness.disk.fail(.writeBack, with: nil)
        try harness.writeBatch()
        #expect(harness.log?.writeFailureReason == nil)
        #expect(!harness.disk.names.contains { $0.hasPrefix("snapshot") })
        // The log retries the snapshot two seconds after the first failure.
        harness.performMaintenance(after: .seconds(1))
        #expect(!harness.disk.names.contains { $0.hasPrefix("snapshot") })
        harness.performMaintenance(after: .seconds(3))
        #expect(harness.disk.names.contains { $0.hasPrefix("snapshot") })
        #expect(!harness.disk.names.contains { $0.hasSuffix(".tmp") })
        try expectSameStateAfterCrash(harness)
    }

    @Test("The last two snapshots and the journals since the older snapshot are kept")
    func outdated() throws {
        let harness = try harness(setupWithLargeJournal())
        for _ in 0..<5 {
            try harness.writeBatch()
            harness.performMaintenance(after: .seconds(400))
        }
        let listing = DataDirectory.Listing(harness.disk.names)
        #expect(listing.snapshots.count == 2)
        #expect(listing.journals.map(\.revision) == listing.snapshots.map(\.revision))
        try expectSameStateAfterCrash(harness)
    }

    @Test("No snapshot is written while nothing changes")
    func idle() throws {
        let harness = try harness(setupWithLargeJournal())
        try harness.writeBatch()
        harness.performMaintenance(after: .seconds(400))
        let names = harness.disk.names
        let calls = harness.disk.calls
        for _ in 0..<5 { harness.performMaintenance(after: .seconds(400)) }
        #expect(harness.disk.names == names && harness.disk.calls == calls)
    }

    @Test("A closed log accepts no write and releases the directory")
    func close() throws {
        let harness = try harness()
        try harness.writeBatch()
        let log = try #require(harness.log)
        try log.close()
        #expect(throws: CommitLogError.self) { try log.flush() }
        try harness.open()
        #expect(harness.recovered?.endsWithCleanStop == true)
        #expect(harness.recovered?.replayedBytes == 0)
    }

    private func expectSameStateAfterCrash(_ harness: LogHarness) throws {
        let before = try #require(harness.newestState)
        harness.crash(.syncedOnly)
        try harness.open()
        try expectState(harness, before)
    }

    private func expectState(_ harness: LogHarness, _ state: State) throws {
        #expect(harness.newestState.map { StateDescription($0) } == StateDescription(state))
    }
}
