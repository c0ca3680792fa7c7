import TestSupport
import Testing

@Suite(.ownThread)
struct LinearizabilityCheckerTests {
    @Test("a history that some order explains is accepted", arguments: HistoryCase.rightOnes)
    func accepts(_ example: HistoryCase) {
        let check = HistoryCheck(example.calls, from: HistoryCase.initial, isPipelined: example.isPipelined)
        #expect(check.violations.isEmpty, "\(check.summary)")
    }

    @Test(
        "a history that is wrong is refused, by the part of the checker that has to see it",
        arguments: HistoryCase.wrongOnes)
    func refuses(_ example: HistoryCase) {
        let search = LinearizationSearch(example.calls, from: HistoryCase.initial, isOrdered: example.isPipelined)
        let isExplained = if case .linearizable = search.run() { true } else { false }
        #expect(isExplained == example.isExplained)
        let order = RevisionOrder(example.calls, from: HistoryCase.initial).violations()
        #expect(order.isEmpty == example.isOrdered, "\(order)")
        let check = HistoryCheck(example.calls, from: HistoryCase.initial, isPipelined: example.isPipelined)
        #expect(!check.violations.isEmpty)
    }

    @Test("what a connection did in order only is accepted where connections promise no order")
    func overlapping() throws {
        let example = try #require(HistoryCase.wrongOnes.first { $0.isPipelined })
        #expect(HistoryCheck(example.calls, from: HistoryCase.initial).violations.isEmpty)
    }

    @Test("settings that no call connects are looked at by themselves")
    func groups() {
        let calls: [Call] = [
            .read(0, 1...2, .at(0, 0)), .read(0, 3...4, .at(1, 0), .at(2, 0)), .read(1, 1...2, .at(2, 0)),
            .read(1, 3...4, .at(0, 0)),
        ]
        let groups = HistoryCheck.groups(of: calls, count: 3)
        #expect(groups.map { $0.map(\.settings) } == [[[0], [0]], [[1, 2], [2]]])
    }

    @Test("on small histories, right and wrong, the search agrees with trying every order")
    func bruteForce() {
        var verdicts = [true: 0, false: 0]
        for seed in 0..<(1500 as UInt64) {
            var history = RandomHistory(seed: seed)
            let calls = history.make()
            let search = LinearizationSearch(calls, from: HistoryCase.initial, isOrdered: false)
            let isExplained = if case .linearizable = search.run() { true } else { false }
            let isReallyExplained = BruteForce(calls: calls, orphans: search.orphans).explains(
                from: HistoryCase.initial)
            #expect(isExplained == isReallyExplained, "seed \(seed): \(calls)")
            #expect(isExplained || history.isSpoiled, "seed \(seed): \(calls)")
            verdicts[isExplained, default: 0] += 1
        }
        #expect(verdicts.values.allSatisfy { $0 > 200 }, "\(verdicts)")
    }

    @Test("a long history with many calls at a time is decided quickly, also with the outcome of many unknown")
    func long() {
        for seed in 0..<(5 as UInt64) {
            var history = RandomHistory(seed: seed)
            let calls = history.make(count: 600, overlap: 12, spoils: false)
            let check = HistoryCheck(calls, from: HistoryCase.initial)
            #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
        }
    }
}
