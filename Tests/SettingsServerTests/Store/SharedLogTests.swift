import Dispatch
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import SettingsStorage

/// A store over a log to which other daemons add commits. Each flush of the log waits for a call of `releaseFlush`;
/// calls before a flush count for the next flushes. `failNextFlush(outcome, cause)` makes the next flush fail; with
/// `.overtaken, .contended`, it fails because other daemons have committed first. Writes have numbers.
/// `awaitFurtherResults` waits for a number of further results, and returns all results so far. `commitPredecessors`
/// has, for each flushed commit, the revision of the commit before it.
@Suite(.ownThread)
struct SharedLogTests {
    private let scripted: ScriptedStore

    init() throws {
        scripted = try ScriptedStore(ScriptedLog(isGated: true, isShared: true)) {
            $0.queueTimeout = 1_000_000_000  // one second
        }
    }

    /// Returns the commit that another daemon makes for a write.
    private func commitOfOtherDaemon(_ request: WriteRequest, on state: State, at revision: Int64) throws -> Commit {
        let decision = try state.decide(
            request, revision: try #require(Revision(revision)), time: Timestamp(milliseconds: 1000))
        return try #require(decision.commit)
    }

    /// Makes the store perform the maintenance of the log, which publishes commits of other daemons. Waits for the end
    /// of the maintenance.
    private func performMaintenance() {
        let isDone = DispatchSemaphore(value: 0)
        scripted.store.performMaintenance()
        scripted.store.whenIdle { _ in isDone.signal() }
        isDone.patientWait()
    }

    @Test("A refusal waits for a flush, because another daemon may have committed")
    func refusals() throws {
        scripted.enqueue(try scripted.makeWrite(1, key: "a", value: 1, guards: [.exists]))
        scripted.log.awaitFlushStart()
        #expect(scripted.results.order.isEmpty)
        scripted.log.releaseFlush()
        #expect(scripted.awaitFurtherResults(1)[1]?.problem?.code == .preconditionFailed)
    }

    @Test
    func `With a shared log, no write is decided while a flush runs`() throws {
        try scripted.beginFlushOfWrite1()
        scripted.enqueue(try scripted.makeWrite(2, key: "a", value: 1), try scripted.makeWrite(3, key: "a", value: 2))
        scripted.awaitDecisions()
        // Writes 2 and 3 are decided only after the flush of write 1, and have then waited for longer than
        // `queueTimeout`.
        scripted.time.advance(seconds: 2)
        for _ in 1...2 { scripted.log.releaseFlush() }
        let results = scripted.awaitFurtherResults(3)
        #expect(results[1]?.problem == nil)
        #expect(results[2]?.problem?.code == .overloaded && results[3]?.problem?.code == .overloaded)
    }

    @Test("Writes that were overtaken are decided again on the commits of the other daemon")
    func overtaken() throws {
        scripted.enqueue(
            try scripted.makeWrite(1, key: "a", value: 1, guards: [.isAbsent]),
            try scripted.makeWrite(2, key: "a", value: 2),
            try scripted.makeWrite(3, key: "a", value: 0, requestKey: "k"))
        scripted.log.awaitFlushStart()
        // The other daemon has received the request of write 3 first.
        scripted.log.addCommitOfOtherDaemon(
            try commitOfOtherDaemon(.put("a", 0, requestKey: "k"), on: scripted.store.state, at: 7))
        scripted.log.failNextFlush(.overtaken, .contended)
        scripted.log.releaseFlush()
        scripted.log.awaitFlushStart()
        #expect(scripted.results.order.isEmpty)
        #expect(scripted.store.state.revision == Revision(7), "the commit of the other daemon must be published")
        scripted.log.releaseFlush()
        let results = scripted.awaitFurtherResults(3)
        #expect(results[1]?.problem?.code == .preconditionFailed)
        #expect(results[2]?.setting?.previous?.value == 0)
        #expect(results[3]?.setting?.isReplayed == true && results[3]?.setting?.revision == Revision(7))
        // Only write 2 makes a commit.
        #expect(scripted.log.commitPredecessors.map(\.number) == [7])
    }

    @Test("Commits of other daemons are published without a write, and the next write is decided on these commits")
    func following() throws {
        scripted.log.addCommitOfOtherDaemon(try commitOfOtherDaemon(.put("a", 1), on: scripted.store.state, at: 3))
        performMaintenance()
        #expect(scripted.store.state.revision == Revision(3))
        scripted.log.addCommitOfOtherDaemon(try commitOfOtherDaemon(.put("b", 1), on: scripted.store.state, at: 4))
        performMaintenance()
        scripted.log.releaseFlush()
        scripted.enqueue(try scripted.makeWrite(1, key: "a", value: 2))
        #expect(scripted.awaitFurtherResults(1)[1]?.setting?.previous?.value == 1)
        #expect(scripted.log.commitPredecessors.map(\.number) == [4])
    }

    /// The decide stage refuses a write after 90 % of `queueTimeout`, so that the last tenth is left for the flush.
    @Test("If other daemons always commit first, a write is refused shortly before its deadline")
    func timeout() throws {
        let start = scripted.time.clock.now()
        try scripted.beginFlushOfWrite1()
        scripted.enqueue(try scripted.makeWrite(2, key: "a", value: 1))
        scripted.time.advance(nanoseconds: 800_000_000)
        scripted.log.releaseFlush()
        scripted.log.awaitFlushStart()
        scripted.time.advance(nanoseconds: 150_000_000)
        scripted.log.failNextFlush(.overtaken, .contended)
        scripted.log.releaseFlush()
        let problem = try #require(scripted.awaitFurtherResults(2)[2]?.problem)
        #expect(problem.code == .overloaded && problem.outcome == .notDone)
        #expect(
            scripted.log.deadlines == [start + 1_000_000_000, start + 1_000_000_000], "both writes arrived at the start"
        )
    }

    @Test("All writes of an overtaken batch are decided again, also if the limit of a batch was lowered meanwhile")
    func loweredBatchLimit() throws {
        try scripted.beginFlushOfWrite1()
        scripted.enqueue(
            try scripted.makeWrite(2, key: "b", value: 1), try scripted.makeWrite(3, key: "c", value: 1),
            try scripted.makeWrite(4, key: "d", value: 1))
        scripted.log.releaseFlush()
        scripted.log.awaitFlushStart()
        scripted.store.limits.batchCount = 1
        scripted.log.failNextFlush(.overtaken, .contended)
        // The overtaken flush, and then at most one flush for each of the three writes.
        for _ in 1...4 { scripted.log.releaseFlush() }
        #expect(scripted.awaitFurtherResults(4).values.allSatisfy { $0.problem == nil })
        #expect(scripted.results.order == [1, 2, 3, 4])
    }

    @Test("A repeat of a request with an unknown outcome waits until the log knows the outcome")
    func repeatWaits() throws {
        scripted.log.failNextFlush(.unknown, .failed)
        scripted.enqueue(try scripted.makeWrite(1, key: "a", value: 1, requestKey: "k"))
        scripted.log.releaseFlush()
        #expect(scripted.awaitFurtherResults(1)[1]?.problem?.outcome == .unknown)
        scripted.log.setHasUnresolvedBatch(true)
        scripted.enqueue(try scripted.makeWrite(2, key: "a", value: 1, requestKey: "k"))
        performMaintenance()
        #expect(scripted.results.order == [1])

        // While the outcome of a batch is unknown, the log in etcd refuses all later batches. The test imitates this
        // refusal.
        scripted.log.failNextFlush(.notDone, .failed)
        scripted.log.releaseFlush()
        scripted.enqueue(try scripted.makeWrite(3, key: "b", value: 1))
        #expect(
            scripted.awaitFurtherResults(1)[3]?.problem?.outcome == .notDone,
            "a write without a request key does not wait")

        // The commit with the unknown outcome was stored.
        scripted.log.addCommitOfOtherDaemon(
            try commitOfOtherDaemon(.put("a", 1, requestKey: "k"), on: scripted.store.state, at: 1))
        scripted.log.setHasUnresolvedBatch(false)
        scripted.log.releaseFlush()
        performMaintenance()
        #expect(scripted.awaitFurtherResults(1)[2]?.setting?.isReplayed == true)
    }

    @Test
    func `A repeat is answered as unknown if the outcome of the first request stays unknown`() throws {
        scripted.log.failNextFlush(.unknown, .failed)
        scripted.enqueue(try scripted.makeWrite(1, key: "a", value: 1, requestKey: "k"))
        scripted.log.releaseFlush()
        _ = scripted.awaitFurtherResults(1)
        scripted.log.setHasUnresolvedBatch(true)
        scripted.enqueue(try scripted.makeWrite(2, key: "a", value: 1, requestKey: "k"))
        performMaintenance()
        scripted.time.advance(seconds: 1)
        performMaintenance()
        let problem = try #require(scripted.awaitFurtherResults(1)[2]?.problem)
        #expect(problem.code == .storageFailed && problem.outcome == .unknown)
    }
}
