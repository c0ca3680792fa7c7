import Dispatch
import HTTPWire
import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import HTTPServer
@testable import SettingsWeb

@Suite(.ownThread)
struct ResponseCacheTests {
    private var cache = ResponseCache()

    private func question(_ suite: String) throws -> Question {
        Question(WatchSubject(try SuiteName(suite)), .noChanges)
    }

    private func revision(_ number: Int64) -> Revision { Revision(number) ?? .zero }

    private mutating func keep(_ body: [UInt8], _ suite: String, after place: Int64 = 0, at number: Int64) throws {
        let epoch = try #require(Epoch("e0"))
        let entry = ResponseCache.Entry(
            place: revision(place), revision: revision(number),
            cursor: Cursor(epoch: epoch, revision: revision(number)), response: Response(status: 200, body: body))
        cache.keep(entry, for: try question(suite))
    }

    private mutating func body(_ suite: String, after place: Int64 = 0, at number: Int64) throws -> [UInt8]? {
        cache.response(to: try question(suite), after: revision(place), at: revision(number))?.body
    }

    @Test("an answer is found by its question, place and revision, until a newer one to the same question is kept")
    mutating func keys() throws {
        try keep([1], "a", after: 1, at: 5)
        for _ in 0..<2 {
            #expect(try body("a", after: 1, at: 5) == [1])
            #expect(try body("a", after: 2, at: 5) == nil)
            #expect(try body("a", after: 1, at: 6) == nil)
            #expect(try body("b", after: 1, at: 5) == nil)
        }
        try keep([2], "a", after: 1, at: 6)
        #expect(try body("a", after: 1, at: 6) == [2])
        #expect(try body("a", after: 1, at: 5) == nil)
    }

    @Test("when there is no more room, only the newest answer is left")
    mutating func bounds() throws {
        let long = [UInt8](repeating: 0, count: 3 << 20)
        for suite in ["a", "b", "c"] { try keep(long, suite, at: 1) }
        #expect(try ["a", "b", "c"].map { try body($0, at: 1) != nil } == [false, false, true])
        for _ in 0..<5 { try keep(long, "c", at: 2) }
        try keep(long, "d", at: 2)
        #expect(try body("c", at: 2) != nil)
        try keep([UInt8](repeating: 0, count: 9 << 20), "e", at: 2)
        #expect(try body("e", at: 2) == nil)
        for number in 0..<100 { try keep([1], "s\(number)", at: 3) }
        #expect(try body("s0", at: 3) == nil)
        #expect(try body("s99", at: 3) == [1])
    }
}

@Suite(.ownThread)
struct BackgroundQueueTests {
    @Test("work runs in its turn, unless its result is no longer wanted; beyond the bound the queue is full")
    func turns() {
        let (log, gate) = (EventLog(), DispatchSemaphore(value: 0))
        let queue = BackgroundQueue("long work", MemoryBudget(limit: 1200), mostJobs: 256)
        queue.run(BackgroundQueue.Job { _ in gate.patientWait() })
        let flags = (1..<256).map { number in
            let flag = WantedFlag()
            var job = BackgroundQueue.Job { _ in log.add("\(number)") }
            job.isWanted = { flag.isSet }
            queue.run(job)
            return flag
        }
        for (position, flag) in flags.enumerated() where position % 2 == 1 { flag.clear() }
        while !queue.isFull() { queue.run(BackgroundQueue.Job { _ in log.add("more") }) }
        queue.run(BackgroundQueue.Job { _ in log.add("last") })
        gate.signal()
        #expect(log.wait(for: "last"))
        #expect(log.all.filter { $0 != "more" } == stride(from: 1, to: 256, by: 2).map(String.init) + ["last"])
        #expect(!queue.isFull())
    }

    @Test("work waits for room in the budget, asks for it meanwhile, and keeps what it charged")
    func room() {
        let log = EventLog()
        let budget = MemoryBudget(limit: 1200)
        let held = budget.charge(600)
        let queue = BackgroundQueue("long work", budget, mostJobs: 256)
        let job = BackgroundQueue.Job(bytes: { 500 }) { _ in log.add("done with \(budget.usedBytes)") }
        queue.run(job)
        held.resize(to: 0)
        #expect(log.wait(for: "done with 500"))
    }

    @Test("work that takes more memory than the budget has is refused at once, and no connection is closed for it")
    func workBeyondBudget() {
        let log = EventLog()
        let budget = MemoryBudget(limit: 1200)
        let held = budget.charge(600)
        let queue = BackgroundQueue("long work", budget, mostJobs: 256)
        var job = BackgroundQueue.Job(bytes: { budget.capacity + 1 }) { _ in log.add("done") }
        job.refuse = { problem in log.add("\(problem?.status ?? 0), limit \(problem?.limit ?? 0)") }
        queue.run(job)
        #expect(log.wait { !$0.isEmpty })
        #expect(log.all == ["413, limit \(budget.capacity)"])
        withExtendedLifetime(held) {}
    }
}
