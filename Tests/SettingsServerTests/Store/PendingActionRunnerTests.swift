import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsStorage

/// The runner of pending actions with clocks that the test controls.
@Suite(.ownThread)
struct PendingActionRunnerTests {
    /// A store with a runner, a monotonic clock and a wall clock.
    private final class Run: Sendable {
        let log: ScriptedLog
        let store: Store
        let results = CollectedResults()
        let time = ManualClock()
        /// The wall clock in milliseconds.
        let wall = Atomic<Int64>(1_760_000_000_000)
        let runner: PendingActionRunner

        init(_ state: State? = nil, log: ScriptedLog = ScriptedLog(), wall start: Int64 = 1_760_000_000_000) throws {
            self.log = log
            wall.store(start, ordering: .sequentiallyConsistent)
            let state = try state ?? State(epoch: #require(Epoch("e0")))
            let wallTime = Mutex<@Sendable () -> Timestamp>({ Timestamp(milliseconds: 0) })
            let clock: @Sendable () -> Timestamp = { wallTime.withLock { $0 }() }
            store = Store(state, log: log, monotonic: time.clock, clock: clock)
            runner = PendingActionRunner(
                store, log: Log(level: .error, clock: clock) { _ in }, monotonic: time.clock, clock: clock)
            wallTime.withLock { reading in
                reading = { [weak self] in
                    Timestamp(milliseconds: self?.wall.load(ordering: .sequentiallyConsistent) ?? 0)
                }
            }
        }

        deinit { runner.stop() }

        func write(_ id: Int, _ key: String, _ value: JSONValue, _ deadlines: WriteRequest.Deadlines) throws {
            var request = try WriteRequest.put(key, value)
            request.deadlines = deadlines
            #expect(store.enqueue(WriteID(id), request, for: results) == nil)
            #expect(results.wait(for: 1)[id]?.isSuccess ?? false)
        }

        func advanceWallClock(seconds: Int64) { wall.add(seconds * 1000, ordering: .sequentiallyConsistent) }

        var kinds: [PendingAction.Kind] { store.state.pending.byDeadline.map(\.action.kind) }

        /// Makes the runner compare the deadlines with the clocks, and waits until it has done so.
        func awaitRunnerCheck() {
            runner.published()
            runner.awaitCheck()
        }
    }

    private static func confirm(_ seconds: Int64) -> WriteRequest.Deadlines {
        WriteRequest.Deadlines(confirm: seconds * 1000, until: nil, effective: nil)
    }

    private static func until(_ seconds: Int64) -> WriteRequest.Deadlines {
        WriteRequest.Deadlines(confirm: nil, until: .after(milliseconds: seconds * 1000), effective: nil)
    }

    @Test("The monotonic clock decides when a confirmation is due, and the wall clock when other actions are due")
    func clocks() throws {
        let run = try Run()
        run.runner.start(waitingAtMost: 10)
        try run.write(1, "a", 1, Self.confirm(60))
        try run.write(2, "b", 1, Self.until(60))
        // The wall clock is set forward: only the other action is due.
        run.advanceWallClock(seconds: 3600)
        run.awaitRunnerCheck()
        try eventually { run.kinds == [.confirm] }
        // The wall clock is set back, which neither makes the confirmation due nor delays it.
        run.advanceWallClock(seconds: -7200)
        run.time.advance(seconds: 59)
        run.awaitRunnerCheck()
        #expect(run.kinds == [.confirm])
        run.time.advance(seconds: 1)
        run.awaitRunnerCheck()
        try eventually { run.kinds == [] }
        #expect(run.store.state.suite(try SuiteName("app"))?.setting(try KeyName("a")).source == .unset)
        // The runner counts an action after its commit is published.
        try eventually { run.runner.counts.carriedOut == 2 }
    }

    @Test("After a restart, the wall clock gives the remaining time of a confirmation, which is at most its period")
    func restart() throws {
        let first = try Run()
        first.runner.start(waitingAtMost: 10)
        try first.write(1, "a", 1, Self.confirm(60))
        let state = first.store.state
        // The daemon was down for 50 seconds.
        let second = try Run(state, wall: 1_760_000_050_000)
        second.runner.start(waitingAtMost: 10)
        #expect(second.kinds == [.confirm])
        second.time.advance(seconds: 9)
        second.awaitRunnerCheck()
        #expect(second.kinds == [.confirm])
        second.time.advance(seconds: 1)
        second.awaitRunnerCheck()
        try eventually { second.kinds == [] }
        // The wall clock was set back by a day while the daemon was down.
        let third = try Run(state, wall: 1_760_000_000_000 - 86_400_000)
        third.runner.start(waitingAtMost: 10)
        third.time.advance(seconds: 60)
        third.awaitRunnerCheck()
        try eventually { third.kinds == [] }
        // The deadline passed while the daemon was down: the start carries out the action.
        let fourth = try Run(state, wall: 1_760_000_060_000)
        fourth.runner.start(waitingAtMost: 60)
        #expect(fourth.kinds == [])
    }

    @Test("An action whose flush fails is tried again after a second, and takes effect once")
    func retry() throws {
        let run = try Run()
        run.runner.start(waitingAtMost: 10)
        try run.write(1, "a", 1, Self.until(60))
        run.log.failNext(.notDone, .full)
        run.advanceWallClock(seconds: 60)
        run.awaitRunnerCheck()
        try eventually { run.runner.counts.failedAttempts == 1 }
        run.awaitRunnerCheck()
        #expect(run.kinds == [.until])
        run.time.advance(seconds: 1)
        run.awaitRunnerCheck()
        try eventually { run.kinds == [] }
        try eventually { run.runner.counts.carriedOut == 1 }
        #expect(run.runner.counts.failedAttempts == 1)
        let events = run.log.flushes.joined().flatMap(\.pending)
        #expect(events.count == 2)
    }

    @Test("If another daemon carries out an action first, the write of this daemon has no effect")
    func overtaken() throws {
        let log = ScriptedLog(isShared: true)
        let run = try Run(log: log)
        run.runner.start(waitingAtMost: 10)
        try run.write(1, "a", 1, Self.until(60))
        let action = try #require(run.store.state.pending.byDeadline.first?.action)
        let decision = try run.store.state.decide(
            WriteRequest(.carryOut(action.id, deadline: action.deadline)), revision: try #require(Revision(2)),
            time: action.deadline)
        log.addForeign(try #require(decision.commit))
        log.failNext(.overtaken, .failed)
        run.advanceWallClock(seconds: 60)
        run.awaitRunnerCheck()
        try eventually { run.kinds == [] }
        run.runner.awaitCheck()
        #expect(run.runner.counts.carriedOut == 0)
        #expect(run.store.state.revision == Revision(2))
    }
}
