import Glibc
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// The write path over a log whose disk fails. The outcome of a commit is then unknown, and the next start may restore
/// the commit.
@Suite(.ownThread)
struct UnknownOutcomeTests {
    private let disk = SimulatedDisk()
    private let results = CollectedResults()

    /// Opens the store of the data on the disk, as a start of the daemon does.
    private func start() throws -> (store: Store, log: LocalLog) {
        let epoch = try #require(Epoch("e0"))
        var options = LocalLog.Options(durability: .always)
        options.runsSynchronously = true
        let (recovered, log) = try LocalLog.open(
            DataDirectory("/data", in: disk), options: options, limits: History.Limits(), log: LogHarness.quiet,
            newEpoch: { epoch },
            clock: ManualClock().clock.now)
        return (Store(recovered.state, log: log) { Timestamp(milliseconds: 1000) }, log)
    }

    /// Writes a setting, and waits for the result. All writes have the number 1, for which `results` has the last
    /// result.
    private func write(
        _ action: Transaction.Operation.Action, _ key: String, guards: [WriteGuard] = [], on store: Store
    ) throws -> WriteResult? {
        var request = WriteRequest(
            .setting(Transaction.Operation(suite: try SuiteName("app"), key: try KeyName(key), action)))
        request.guards = guards
        request.size = 100
        #expect(store.enqueue(WriteID(1), request, for: results) == nil)
        return results.awaitFurther(1)[1]
    }

    @Test("While a restart may restore a commit with an unknown outcome, the log refuses all later writes")
    func unknownOutcome() throws {
        do {
            let (store, log) = try start()
            #expect(try write(.set(1), "a", on: store)?.setting?.changed == true)
            // The log can neither sync the commit, nor begin a new journal, nor truncate the journal before the commit.
            for call in [FileError.Call.syncData, .sync, .truncate] { disk.fail(call, with: EIO) }
            #expect(try write(.set(1), "k", on: store)?.problem?.outcome == .unknown)
            let answers = [
                "a removal": try write(.delete, "k", on: store),
                "the same value again": try write(.set(1), "a", on: store),
                "a refusal": try write(.set(2), "k", guards: [.exists], on: store),
                "a write": try write(.set(2), "b", on: store),
            ]
            for (name, answer) in answers {
                #expect(answer?.problem?.code == .storageFailed, "\(name)")
                #expect(answer?.problem?.outcome == .notDone, "\(name)")
            }
            #expect(log.writeFailureReason != nil)
        }
        // The process is killed, and the data that the sync should have written is on disk.
        disk.restart(.everything)
        let (store, _) = try start()
        #expect(try write(.delete, "k", on: store)?.setting?.changed == true, "the start must restore the commit")

        // Only this call fails, so the log can truncate the journal before the commit.
        disk.fail(.syncData, with: EIO)
        #expect(try write(.set(3), "k", on: store)?.problem?.outcome == .unknown)
        disk.fail(.syncData, with: nil)
        let removal = try write(.delete, "k", on: store)
        #expect(removal?.setting?.changed == false, "the log has begun a new journal without the commit of the value 3")
        disk.restart(.everything)
        #expect(
            try write(.delete, "k", on: start().store)?.setting?.changed == false,
            "the start must not restore the value 3"
        )
    }
}
