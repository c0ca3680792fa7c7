import TestSupport
import Testing

/// Tests of the check that decides whether a daemon that executes one call at a time could have given all answers of a
/// history, which is a list of concurrent calls. The cases are written by hand.
@Suite(.ownThread)
struct HistoryCheckTests {
    @Test(
        "The check accepts a history if and only if the order of its commits explains all answers",
        arguments: HistoryCase.all)
    func cases(_ example: HistoryCase) {
        let check = HistoryCheck(example.calls, example.timeline, isPipelined: example.isPipelined)
        #expect(check.violations.isEmpty == example.isCorrect, "\(check.summary)")
    }

    @Test("Without `isPipelined`, the check accepts a history that violates only the order of the calls of one client")
    func overlapping() throws {
        let example = try #require(HistoryCase.incorrectCases.first { $0.isPipelined })
        #expect(HistoryCheck(example.calls, example.timeline).violations.isEmpty)
    }
}
