import TestSupport

/// Makes up histories: calls done one at a time, told as if they had overlapped, and then maybe spoiled.
struct RandomHistory {
    private var generator: SeededGenerator
    /// Whether an answer was changed afterwards. The history may be right all the same.
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
