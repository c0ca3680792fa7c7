import TestSupport
import Testing

@Suite(.ownThread)
struct HistoryCheckTests {
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

/// Tries every order of a few calls: what the search must agree with.
struct BruteForce {
    let calls: [Call]
    /// What was seen of commits without an answer.
    let orphans: [Int64: [Int: Int64?]]

    /// True if some order explains the answers.
    func explains(from model: Model, done: Set<Int> = []) -> Bool {
        let left = calls.indices.filter { !done.contains($0) }
        if left.allSatisfy({ calls[$0].isUnknown }) { return true }
        return left.contains { next in
            guard left.allSatisfy({ calls[$0].answered >= calls[next].invoked }) else { return false }
            let models =
                calls[next].isUnknown
                ? model.possibilities(after: calls[next], orphans: orphans)
                : [model.after(calls[next])].compactMap(\.self)
            return models.contains { explains(from: $0, done: done.union([next])) }
        }
    }
}

/// A maker of random histories: calls done one at a time, with times as if they had overlapped, and maybe spoiled.
struct RandomHistory {
    private var generator: SeededGenerator
    /// True if an answer was changed afterwards. The history may be right all the same.
    private(set) var isSpoiled = false

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    /// - Parameter overlap: how far the times of calls reach beyond the moment at which they take effect.
    mutating func make(count: Int = 6, overlap: Int = 3, spoils: Bool = true) -> [Call] {
        var model = HistoryCase.initial
        var calls: [Call] = []
        for index in 0..<count {
            let moment = (index + overlap) * 10
            let sent = UInt64(moment - generator.below(overlap * 10))
            let answered = UInt64(moment + generator.below(overlap * 10))
            var call = Call(client: index, invoked: sent, answered: answered, request: request(index))
            (call.outcome, model) = model.done(call.request, at: Int64(index + 2))
            if !call.isRead && generator.chance(oneIn: 8) { call.forget() }
            calls.append(call)
        }
        if spoils && generator.chance(oneIn: 2) { spoil(&calls[generator.below(count)]) }
        return calls
    }

    private mutating func request(_ index: Int) -> Call.Request {
        let settings = generator.chance(oneIn: 4) ? [0, 1] : [generator.below(2)]
        if generator.chance(oneIn: 2) { return .read(settings) }
        let conditions: [Call.Condition] =
            switch generator.below(6) {
            case 0: [.isAt(settings[0], revision: Int64(generator.below(index + 2) + 1))]
            case 1: [.isStored(settings[0], generator.chance(oneIn: 2))]
            case 2: [.hasValue(settings[0], Int64(generator.below(4)))]
            default: []
            }
        let steps = settings.map { setting in
            let value = Int64(generator.below(4))
            let action: Call.Action = generator.pick([.set(value), .set(value), .add(value), .remove])
            return Call.Step(setting: setting, action: action)
        }
        return .write(if: conditions, steps)
    }

    /// Has a read show something else.
    private mutating func spoil(_ call: inout Call) {
        guard case .shown(var sights) = call.outcome else { return }
        let sight = generator.below(sights.count)
        let value = Int64(generator.below(4))
        let revision = generator.chance(oneIn: 2) ? nil : sights[sight].revision
        sights[sight] = Call.Sight(setting: sights[sight].setting, value: value, revision: revision)
        call.outcome = .shown(sights)
        isSpoiled = true
    }
}

extension Call {
    /// Makes the call one whose answer was lost.
    fileprivate mutating func forget() {
        outcome = .unknown
        answered = .max
    }
}

extension Model {
    /// How a request ends here, and what is then.
    fileprivate func done(_ request: Call.Request, at revision: Int64) -> (Call.Outcome, Model) {
        func sights(_ settings: some Sequence<Int>) -> [Call.Sight] {
            Set(settings).sorted().map { .at($0, standings[$0].value, standings[$0].revision) }
        }
        switch request {
        case .read(let settings): return (.shown(sights(settings)), self)
        case .write(let conditions, let steps):
            switch effect(of: steps, if: conditions) {
            case .refused(let reason): return (.refused(reason, sights(conditions.map(\.setting))), self)
            case .change(let values) where values.isEmpty: return (.unchanged(sights(steps.map(\.setting))), self)
            case .change(let values):
                let after = values.sorted { $0.key < $1.key }.map { Call.Sight.at($0.key, $0.value, revision) }
                return (.committed(revision, before: sights(values.keys), after: after), changed(values, at: revision))
            }
        }
    }
}
