import Dispatch
import Platform
import TestSupport
import Testing

@testable import HTTPServer
@testable import SettingsWeb

@Suite(.ownThread)
struct WorkSchedulerTests {
    private let log = EventLog()
    private let gate = DispatchSemaphore(value: 0)
    private let time = ManualClock()
    /// The work of a scheduler may reserve seven eighths of the limit: 700 bytes.
    private let budget = MemoryBudget(limit: 800)

    private func scheduler(maximumPerClient: Int = 100) -> WorkScheduler {
        WorkScheduler(
            label: "test", budget: budget, maximumPerClient: maximumPerClient,
            timeout: 10_000_000_000, clock: time.clock)
    }

    private func client(_ name: some StringProtocol) -> ClientKey { .caller(String(name)) }

    /// A job that records its name, or the reason why it was refused. The first letter of the name is the client.
    private func work(_ name: String, bytes: Int = 0, isMandatory: Bool = false) -> WorkScheduler.Work {
        var work = WorkScheduler.Work(client: client(name.prefix(1)), bytes: { bytes }) { [log] _ in log.add(name) }
        if !isMandatory { work.refuse = { [log] in log.add("\(name) \($0)") } }
        return work
    }

    /// Occupies the thread of the scheduler until the test signals `gate`.
    private func block(_ scheduler: WorkScheduler) {
        let isRunning = DispatchSemaphore(value: 0)
        scheduler.submit(
            WorkScheduler.Work { [gate] _ in
                isRunning.signal()
                gate.patientWait()
            })
        isRunning.patientWait()
    }

    @Test(
        "The scheduler serves clients round-robin",
        arguments: [
            ("a1 a2 a3", "a1 a2 a3"), ("a1 a2 a3 b1", "a1 b1 a2 a3"), ("a1 b1 a2 c1 b2", "a1 b1 c1 a2 b2"),
            ("a1 a2! a3", "a1 a3"), ("a1! b1", "b1"),
        ])
    func order(submitted: String, done: String) {
        let scheduler = scheduler()
        block(scheduler)
        for name in submitted.split(separator: " ") {
            var work = work(String(name))
            // A name that ends with `!` stands for a job whose client has disconnected.
            if name.last == "!" { work.isWanted = { false } }
            scheduler.submit(work)
        }
        // The client z has two jobs, which `done` omits. The test waits for the last job in `done` and for the last job
        // of z.
        scheduler.submit(work("z"))
        scheduler.submit(work("z end"))
        gate.signal()
        let expected = done.split(separator: " ").map(String.init)
        for name in expected.suffix(1) + ["z end"] { #expect(log.wait(for: name)) }
        #expect(log.all.filter { !$0.hasPrefix("z") } == expected)
        #expect(scheduler.count == 0)
    }

    @Test("The queue of a client has a limit that does not affect other clients")
    func limit() {
        let scheduler = scheduler(maximumPerClient: 3)
        block(scheduler)
        for number in 1...3 {
            #expect(!scheduler.isFull(for: client("a")))
            scheduler.submit(work("a\(number)"))
        }
        #expect(
            scheduler.isFull(for: client("a")) && !scheduler.isFull(for: client("b")) && !scheduler.isFull(for: nil))
        gate.signal()
        #expect(log.wait(for: "a3"))
        #expect(!scheduler.isFull(for: client("a")))
    }

    @Test("Work waits for memory, and later work waits behind it even if the later work needs less memory")
    func memory() throws {
        let scheduler = scheduler()
        let otherCharge = budget.charge(300)
        scheduler.submit(work("a", bytes: 500))
        // `isShort` is true while work waits for memory.
        try eventually { budget.isShort }
        scheduler.submit(work("b", bytes: 100))
        #expect(log.all.isEmpty && scheduler.count == 2)
        otherCharge.resize(to: 100)
        #expect(log.wait(for: "b"))
        #expect(log.all == ["a", "b"])
        try eventually { !budget.isShort && budget.usedBytes == 100 }
    }

    @Test("The memory of the input counts as part of the memory of the work")
    func input() {
        let input = budget.charge(600)
        var work = work("a", bytes: 700)
        work.input = input
        let scheduler = scheduler()
        scheduler.submit(work)
        // The work has reserved only 100 further bytes, and returned them at its end.
        #expect(log.wait(for: "a"))
        scheduler.submit(self.work("b", bytes: 100))
        #expect(log.wait(for: "b"))
    }

    @Test("Work that exceeds the memory budget is refused at once, unless the work is mandatory")
    func tooLarge() {
        let scheduler = scheduler()
        let otherCharge = budget.charge(600)
        scheduler.submit(work("a", bytes: 701))
        #expect(log.wait(for: "a tooLarge(bytes: 701, capacity: 700)"))
        #expect(!budget.isShort)
        // Mandatory work of any size runs when the whole budget is free.
        otherCharge.resize(to: 0)
        scheduler.submit(work("b", bytes: 701, isMandatory: true))
        #expect(log.wait(for: "b"))
    }

    @Test("Work that waits longer than the timeout is refused, and mandatory work runs without the memory")
    func timeout() throws {
        let scheduler = scheduler()
        let otherCharge = budget.charge(600)
        scheduler.submit(work("a", bytes: 200))
        scheduler.submit(work("b", bytes: 200, isMandatory: true))
        // This job needs no memory, but waits behind the other jobs.
        scheduler.submit(work("c"))
        try eventually { budget.isShort }
        time.advance(seconds: 9)
        #expect(log.all.isEmpty)
        time.advance(seconds: 2)
        #expect(log.wait(for: "c timedOut"))
        #expect(log.all == ["a timedOut", "b", "c timedOut"])
        #expect(otherCharge.bytes == 600)
        try eventually { !budget.isShort }
    }
}
