import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite("What an outbox is about")
struct OutboxStateTests {
    private let samples: SampleWrites
    private let directory: TemporaryDirectory
    private let key: RequestKey
    private let done = Result<WriteSummary, BackendError>.success(
        WriteSummary(revision: .zero, changed: false, changes: []))
    private var state: OutboxState
    private var random = SeededGenerator(seed: 1)

    init() throws {
        samples = try SampleWrites()
        directory = try TemporaryDirectory()
        key = try #require(RequestKey("a setter's"))
        let folder = OutboxFolder(path: directory.path, owner: samples.owner, files: MachineFiles())
        state = OutboxState(OutboxStore(folder))
    }

    private mutating func keep(_ count: Int) throws {
        for number in 0..<count { try state.store.keep(samples.set(number), as: samples.set(number)) }
    }

    @Test("A setter is told what became of its write, once, and only if it waits")
    mutating func awaiting() {
        var isTold = state.answer(key, done)
        #expect(!isTold && state.stopWaiting(for: key) == nil)
        state.await(key)
        #expect(state.isAwaited(key))
        isTold = state.answer(key, done)
        #expect(isTold && !state.isAwaited(key))
        isTold = state.answer(key, done)
        #expect(!isTold)
        let result = state.stopWaiting(for: key)
        #expect(result == done && state.stopWaiting(for: key) == nil)
    }

    @Test("Nobody waits while nothing is tried, nor after somebody waited in vain, until nothing is left")
    mutating func patience() throws {
        try keep(2)
        _ = state.planNext(.away)
        state.await(key)
        #expect(!state.isAwaited(key))
        _ = state.planNext()
        state.await(key)
        #expect(state.isAwaited(key))
        #expect(state.stopWaiting(for: key) == nil)
        state.await(key)
        #expect(!state.isAwaited(key))
        var isMore = state.endFirst()
        state.await(key)
        #expect(isMore && !state.isAwaited(key))
        isMore = state.endFirst()
        try keep(1)
        state.await(key)
        #expect(!isMore && state.isAwaited(key))
        // That it stopped because nobody is there says nothing about how long it takes.
        _ = state.planNext(.away)
        #expect(state.stopWaiting(for: key) == nil)
        _ = state.planNext()
        state.await(key)
        #expect(state.isAwaited(key))
    }

    @Test("Something is planned when there is something to send that was told of, and nothing is planned yet")
    mutating func plans() throws {
        #expect(!state.needsPlan)
        try keep(1)
        state.untold = 1
        #expect(!state.needsPlan && state.next() == nil)
        state.untold = 0
        #expect(state.needsPlan)
        #expect(state.planNext() == 1 && !state.needsPlan && state.planNext(.stalled) == 2)
        #expect(state.next()?.number == 1)
        let isMore = state.endFirst()
        #expect(!isMore && state.next() == nil && !state.needsPlan)
        try keep(1)
        #expect(state.needsPlan)
    }

    @Test("Pauses grow until something is sent; that somebody takes nothing is told once until then")
    mutating func pauses() throws {
        try keep(3)
        var longest = Duration.zero
        for round in 0..<8 {
            let failure = state.fail("full", atLeast: .zero, isAnswer: round > 0, using: &random)
            let (pause, stall) = try #require(failure)
            #expect(pause >= longest || pause > .seconds(4))
            longest = max(longest, pause / 2)
            #expect(stall == (round == 1 ? "3 writes wait, as the first is not taken: full" : nil))
        }
        let asked = state.fail("full", atLeast: .seconds(30), isAnswer: true, using: &random)
        #expect(try #require(asked).pause >= .seconds(30))
        _ = state.endFirst()
        _ = state.endFirst()
        let failure = state.fail("full", atLeast: .zero, isAnswer: true, using: &random)
        let (pause, stall) = try #require(failure)
        #expect(pause <= .milliseconds(100) && stall == "a write waits, as it is not taken: full")
        #expect(state.reason == "full")
    }

    @Test("Nothing pauses when all is sent by then")
    mutating func nothingLeft() throws {
        try keep(1)
        _ = state.endFirst()
        let failure = state.fail("full", atLeast: .zero, isAnswer: true, using: &random)
        #expect(failure == nil)
    }

    @Test("What cannot be used is told once")
    mutating func troubles() {
        let (one, two) = (
            OutboxFolder.Trouble(path: "/a", reason: "damaged"), OutboxFolder.Trouble(path: "/b", reason: "damaged")
        )
        #expect(state.new([one]) == [one] && state.new([one, two]) == [two] && state.new([one, two]) == [])
    }
}
