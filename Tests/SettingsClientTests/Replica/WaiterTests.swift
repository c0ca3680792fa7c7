import TestSupport
import Testing

@testable import SettingsClient

/// The cost of 60,000 timers, waiters or flushes at the same time, and their order. A waiter waits for the result of a
/// write, and a flush waits until all earlier writes have an answer.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct WaiterTests {
    private let count = 60_000

    @Test("Timers are added and cancelled in linear time, in any order")
    func timers() {
        let thread = ClientThread()
        expectLinearTime {
            let moment = ContinuousClock.now + .seconds(3600)
            for isReversed in [false, true] {
                let timers = (0..<count).map { thread.schedule(at: moment + .nanoseconds(isReversed ? -$0 : $0)) {} }
                for timer in timers { thread.cancelTimer(timer) }
            }
        }
    }

    @Test("Timers run in the order of their moments, and cancelled timers do not run")
    func order() {
        let (thread, log) = (ClientThread(), EventLog())
        let start = ContinuousClock.now + .milliseconds(50)
        for number in [3, 1, 4, 0, 2] {
            thread.schedule(at: start + .milliseconds(number)) { log.add("\(number)") }
        }
        thread.cancelTimer(thread.schedule(at: start) { log.add("cancelled") })
        #expect(log.wait(for: "4"))
        #expect(log.all == ["0", "1", "2", "3", "4"])
    }

    @Test("Waiters of writes are removed in linear time")
    func waiters() {
        var sending = SendingState()
        let waiters = (0..<count).map { _ in Promise<WriteResult>() }
        expectLinearTime {
            for waiter in waiters { _ = sending.addWrite(waiter: waiter) }
            let (areAllRemoved, isRemovedTwice) = (
                waiters.reversed().allSatisfy { sending.removeWaiter($0) }, sending.removeWaiter(waiters[0])
            )
            #expect(areAllRemoved && !isRemovedTwice)
        }
    }

    @Test("Flushes end in linear time, each when the writes before it have an answer")
    func flushes() {
        var sending = SendingState()
        expectLinearTime {
            for _ in 0..<count {
                _ = sending.addWrite()
                _ = sending.addFlush()
            }
            var ended = 0
            for _ in 0..<count {
                sending.beginAttempt()
                // The end of a write also ends the flush that was added after the write.
                ended += sending.endFirstWrite().count == 1 ? 1 : 0
            }
            #expect(ended == count && !sending.needsAttempt)
        }
    }

    @Test("A failed attempt ends the flushes that began before the attempt, and no others")
    func failedAttempt() {
        var sending = SendingState()
        _ = sending.addWrite()
        let first = sending.addFlush()
        sending.beginAttempt()
        let second = sending.addFlush()
        let failed = sending.blockFirstWrite(because: "no answer")
        #expect(failed.count == 1 && failed.first === first && sending.needsAttempt)
        let answered = sending.endFirstWrite()
        #expect(answered.count == 1 && answered.first === second && !sending.needsAttempt)
    }
}
