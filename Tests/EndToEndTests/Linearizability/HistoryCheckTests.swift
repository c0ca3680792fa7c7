import TestSupport
import Testing

@Suite(.ownThread)
struct HistoryCheckTests {
    @Test("a history that the order of its commits explains is accepted, any other refused", arguments: HistoryCase.all)
    func cases(_ example: HistoryCase) {
        let check = HistoryCheck(example.calls, example.timeline, isPipelined: example.isPipelined)
        #expect(check.violations.isEmpty == example.isRight, "\(check.summary)")
    }

    @Test("what a connection did in order only is accepted where connections promise no order")
    func overlapping() throws {
        let example = try #require(HistoryCase.wrongOnes.first { $0.isPipelined })
        #expect(HistoryCheck(example.calls, example.timeline).violations.isEmpty)
    }
}
