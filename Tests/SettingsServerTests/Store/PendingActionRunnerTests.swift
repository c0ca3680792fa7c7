import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsStorage

/// The runner of pending actions with clocks that the test controls. `start` carries out the actions that are already
/// due, and waits for their results for at most `waitingAtMostSeconds`.
@Suite(.ownThread)
struct PendingActionRunnerTests {
    /// The wall clock of a run at its start, in milliseconds.
    private static let startTime: Int64 = 1_760_000_000_000

    /// A store with a runner, a monotonic clock and a wall clock.
    private final class Run: Sendable {
        let log: ScriptedLog
        let store: Store
        let results = CollectedResults()
        let monotonic = ManualClock()
        /// The wall clock in milliseconds.
        let wallClock = Atomic<Int64>(0)
        let runner: PendingActionRunner

        init(
            _ state: State? = nil, log: ScriptedLog = ScriptedLog(), wallClock start: Int64 = startTime
        ) throws {
            self.log = log
            wallClock.store(start, ordering: .sequentiallyConsistent)
            let state = try state ?? State(epoch: #require(Epoch("e0")))
            // The closure can read `wallClock` only after the initialization of this object.
            let readWallClock = Mutex<@Sendable () -> Timestamp>({ Timestamp(milliseconds: 0) })
            let clock: @Sendable () -> Timestamp = { readWallClock.withLock { $0 }() }
            store = Store(state, log: log, monotonic: monotonic.clock, clock: clock)
            runner = PendingActionRunner(
                store, log: Log(level: .error, clock: clock) { _ in }, monotonic: monotonic.clock, clock: clock)
            readWallClock.withLock { read in
                read = { [weak self] in
                    Timestamp(milliseconds: self?.wallClock.load(ordering: .sequentiallyConsistent) ?? 0)
                }
            }
        }

        deinit { runner.stop() }

        /// Stores 1 in a key with a pending action. Each write of a test has another number.
        func write(_ number: Int, key: String, _ deadlines: WriteRequest.Deadlines) throws {
            var request = try WriteRequest.put(key, 1)
            request.deadlines = deadlines
            #expect(store.enqueue(WriteID(number), request, for: results) == nil)
            #expect(results.awaitFurther(1)[number]?.isSuccess ?? false)
        }

        func advanceWallClock(seconds: Int64) { wallClock.add(seconds * 1000, ordering: .sequentiallyConsistent) }

        /// The kinds of the actions that are still pending.
        var pendingKinds: [PendingAction.Kind] { store.state.pending.byDeadline.map(\.action.kind) }

        /// Makes the runner compare the deadlines with the clocks, as a publication of changed pending actions does,
        /// and waits until the runner has done so.
        func awaitRunnerCheck() {
            runner.published()
            runner.awaitCheck()
        }
    }

    /// The write is reverted unless a client confirms the write within this time. The kind of the action is `confirm`,
    /// and the action is called a confirmation.
    private static func confirm(within seconds: Int64) -> WriteRequest.Deadlines {
        WriteRequest.Deadlines(confirm: seconds * 1000, until: nil, effective: nil)
    }

    /// The write is reverted after this time. The kind of the action is `until`.
    private static func revert(after seconds: Int64) -> WriteRequest.Deadlines {
        WriteRequest.Deadlines(confirm: nil, until: .after(milliseconds: seconds * 1000), effective: nil)
    }

    @Test("The monotonic clock decides when a confirmation is due, and the wall clock when other actions are due")
    func clocks() throws {
        let run = try Run()
        run.runner.start(waitingAtMostSeconds: 10)
        try run.write(1, key: "a", Self.confirm(within: 60))
        try run.write(2, key: "b", Self.revert(after: 60))
        // The wall clock is set forward: only the revert of the key b is due.
        run.advanceWallClock(seconds: 3600)
        run.awaitRunnerCheck()
        try eventually { run.pendingKinds == [.confirm] }
        // The wall clock is set back, which neither makes the confirmation due nor delays it.
        run.advanceWallClock(seconds: -7200)
        run.monotonic.advance(seconds: 59)
        run.awaitRunnerCheck()
        #expect(run.pendingKinds == [.confirm])
        run.monotonic.advance(seconds: 1)
        run.awaitRunnerCheck()
        try eventually { run.pendingKinds == [] }
        #expect(run.store.state.suite(try SuiteName("app"))?.setting(try KeyName("a")).source == .unset)
        // The runner counts an action after its commit is published.
        try eventually { run.runner.counts.carriedOut == 2 }
    }

    @Test("After a restart, the wall clock gives the remaining time of a confirmation, which is at most its period")
    func restart() throws {
        let first = try Run()
        first.runner.start(waitingAtMostSeconds: 10)
        try first.write(1, key: "a", Self.confirm(within: 60))
        let state = first.store.state
        // The daemon was down for 50 seconds.
        let second = try Run(state, wallClock: Self.startTime + 50_000)
        second.runner.start(waitingAtMostSeconds: 10)
        #expect(second.pendingKinds == [.confirm])
        second.monotonic.advance(seconds: 9)
        second.awaitRunnerCheck()
        #expect(second.pendingKinds == [.confirm])
        second.monotonic.advance(seconds: 1)
        second.awaitRunnerCheck()
        try eventually { second.pendingKinds == [] }
        // The wall clock was set back by a day while the daemon was down.
        let third = try Run(state, wallClock: Self.startTime - 86_400_000)
        third.runner.start(waitingAtMostSeconds: 10)
        third.monotonic.advance(seconds: 60)
        third.awaitRunnerCheck()
        try eventually { third.pendingKinds == [] }
        // The deadline passed while the daemon was down: the start carries out the action.
        let fourth = try Run(state, wallClock: Self.startTime + 60_000)
        fourth.runner.start(waitingAtMostSeconds: 60)
        #expect(fourth.pendingKinds == [])
    }

    @Test("An action whose flush fails is tried again after a second, and takes effect once")
    func retry() throws {
        let run = try Run()
        run.runner.start(waitingAtMostSeconds: 10)
        try run.write(1, key: "a", Self.revert(after: 60))
        run.log.failNextFlush(.notDone, .full)
        run.advanceWallClock(seconds: 60)
        run.awaitRunnerCheck()
        try eventually { run.runner.counts.failedAttempts == 1 }
        run.awaitRunnerCheck()
        #expect(run.pendingKinds == [.until])
        run.monotonic.advance(seconds: 1)
        run.awaitRunnerCheck()
        try eventually { run.pendingKinds == [] }
        try eventually { run.runner.counts.carriedOut == 1 }
        #expect(run.runner.counts.failedAttempts == 1)
        let events = run.log.flushedBatches.joined().flatMap(\.pending)
        #expect(events.count == 2, "one event creates the action, and one event ends it")
    }

    /// The flush fails with the outcome `overtaken`: other daemons committed first.
    @Test("If another daemon carries out an action first, the write of this daemon has no effect")
    func overtaken() throws {
        let log = ScriptedLog(isShared: true)
        let run = try Run(log: log)
        run.runner.start(waitingAtMostSeconds: 10)
        try run.write(1, key: "a", Self.revert(after: 60))
        let action = try #require(run.store.state.pending.byDeadline.first?.action)
        let decision = try run.store.state.decide(
            WriteRequest(.carryOut(action.id, deadline: action.deadline)), revision: try #require(Revision(2)),
            time: action.deadline)
        log.addCommitOfOtherDaemon(try #require(decision.commit))
        log.failNextFlush(.overtaken, .failed)
        run.advanceWallClock(seconds: 60)
        run.awaitRunnerCheck()
        try eventually { run.pendingKinds == [] }
        run.runner.awaitCheck()
        #expect(run.runner.counts.carriedOut == 0)
        // Write 1 has revision 1, and the commit of the other daemon has revision 2. The runner adds no commit.
        #expect(run.store.state.revision == Revision(2))
    }
}
