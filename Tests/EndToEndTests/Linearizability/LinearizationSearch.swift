/// Looks for an order of calls, one at a time, that explains all of their answers.
///
/// This is the search of Wing and Gong with Lowe's memory of where it has been: a call may come next if no other one was
/// answered before it was sent. Calls that were answered are tried first, and those of unknown outcome only where they
/// have to have happened. A call that changes nothing is taken as soon as it fits, since nothing could come before it
/// that would make more of the rest possible; one that takes away what another was shown is not tried (`WantedRevisions`).
struct LinearizationSearch {
    enum Verdict {
        case linearizable
        /// No order explains the answers; where the longest attempt ended.
        case impossible(String)
        /// The search grew beyond its bound.
        case undecided(String)
    }

    /// How many steps the search may take for each call.
    private static let stepsPerCall = 500

    private let initial: Model
    /// What was seen of commits without an answer, by revision and setting.
    let orphans: [Int64: [Int: Int64?]]
    /// Calls that were answered, by the time at which they were sent; behind them those of unknown outcome.
    private let calls: [Call]
    private let answeredCount: Int
    /// The call that must come before, if calls of one connection take effect in order.
    private let predecessors: [Int?]

    /// - Parameter isOrdered: true if calls of a connection take effect in the order in which they were sent, though they
    ///   overlap.
    init(_ history: [Call], from initial: Model, isOrdered: Bool) {
        self.initial = initial
        let positions = history.indices.sorted {
            (history[$0].isUnknown ? 1 : 0, history[$0].invoked, $0) < (
                history[$1].isUnknown ? 1 : 0, history[$1].invoked, $1
            )
        }
        let kept = positions.filter { !(history[$0].isUnknown && history[$0].isRead) }
        calls = kept.map { history[$0] }
        answeredCount = calls.count { !$0.isUnknown }
        var last: [Int: Int] = [:]
        var before = [Int?](repeating: nil, count: calls.count)
        if isOrdered {
            for index in kept.indices.sorted(by: { kept[$0] < kept[$1] }) {
                before[index] = last.updateValue(index, forKey: calls[index].client)
            }
        }
        predecessors = before
        let known = Set(calls.compactMap(\.commit)).union(initial.standings.map(\.revision))
        var orphans: [Int64: [Int: Int64?]] = [:]
        for sight in calls.flatMap(\.sights) {
            guard let revision = sight.revision, !known.contains(revision) else { continue }
            orphans[revision, default: [:]][sight.setting] = .some(sight.value)
        }
        self.orphans = orphans
    }

    /// A call that may come next, and what would be then.
    private struct Choice {
        let call: Int
        let model: Model
    }

    /// A place in the search.
    private struct Frame {
        let model: Model
        /// The call that led here.
        let taken: Int?
        /// No call before this one is left.
        let first: Int
        let choices: [Choice]
        var next = 0
    }

    /// Where the search has been.
    private struct Configuration: Hashable {
        let done: BitSet
        let model: Model
    }

    func run() -> Verdict {
        var done = BitSet(count: calls.count)
        var wanted = WantedRevisions(calls)
        var left = answeredCount
        var visited: Set<Configuration> = []
        var stack = [frame(initial, after: nil, first: 0, done, wanted)]
        var (fewest, furthest) = (Int.max, "")
        while let frame = stack.last {
            if left == 0 { return .linearizable }
            if left < fewest && frame.choices.isEmpty {
                fewest = left
                furthest = describe(frame, done)
            }
            guard frame.next < frame.choices.count else {
                stack.removeLast()
                if let taken = frame.taken {
                    done.remove(taken)
                    wanted.putBack(taken)
                    if taken < answeredCount { left += 1 }
                }
                continue
            }
            let choice = frame.choices[frame.next]
            stack[stack.count - 1].next += 1
            done.insert(choice.call)
            guard visited.insert(Configuration(done: done, model: choice.model)).inserted else {
                done.remove(choice.call)
                continue
            }
            guard visited.count <= 1000 + calls.count * Self.stepsPerCall else { return .undecided(furthest) }
            if choice.call < answeredCount { left -= 1 }
            wanted.take(choice.call)
            stack.append(self.frame(choice.model, after: choice.call, first: frame.first, done, wanted))
        }
        return .impossible(furthest)
    }

    private func frame(_ model: Model, after taken: Int?, first: Int, _ done: BitSet, _ wanted: WantedRevisions)
        -> Frame
    {
        var first = first
        while first < answeredCount, done.contains(first) { first += 1 }
        return Frame(model: model, taken: taken, first: first, choices: choices(model, first, done, wanted))
    }

    private func choices(_ model: Model, _ first: Int, _ done: BitSet, _ wanted: WantedRevisions) -> [Choice] {
        var choices: [Choice] = []
        let (candidates, horizon) = candidates(first, done)
        for index in candidates {
            guard isDue(index, done), let after = model.after(calls[index]) else { continue }
            if calls[index].commit == nil { return [Choice(call: index, model: after)] }
            if wanted.allow(index, from: model, to: after) { choices.append(Choice(call: index, model: after)) }
        }
        // The order of revisions is most likely the right one, which saves time and decides nothing.
        choices.sort { (calls[$0.call].commit ?? 0) < (calls[$1.call].commit ?? 0) }
        for index in answeredCount..<calls.count where !done.contains(index) && isDue(index, done) {
            guard calls[index].invoked <= horizon else { break }
            for after in model.possibilities(after: calls[index], orphans: orphans)
            where wanted.allow(index, from: model, to: after) {
                choices.append(Choice(call: index, model: after))
            }
        }
        return choices
    }

    /// The calls that no call that is left was answered before, and the first time at which one of those is answered.
    private func candidates(_ first: Int, _ done: BitSet) -> (calls: [Int], horizon: UInt64) {
        var candidates: [Int] = []
        var horizon = UInt64.max
        for index in first..<answeredCount where !done.contains(index) {
            guard calls[index].invoked <= horizon else { break }
            horizon = min(horizon, calls[index].answered)
            candidates.append(index)
        }
        return (candidates, horizon)
    }

    private func isDue(_ index: Int, _ done: BitSet) -> Bool {
        predecessors[index].map { done.contains($0) } ?? true
    }

    private func describe(_ frame: Frame, _ done: BitSet) -> String {
        let pending = candidates(frame.first, done).calls.map { "    \(calls[$0])" }
        let unknown = (answeredCount..<calls.count).filter { !done.contains($0) }.prefix(5).map { "    \(calls[$0])" }
        return "no call can come next where settings are \(frame.model):\n"
            + (pending + unknown).joined(separator: "\n")
    }
}

/// A set of small numbers.
private struct BitSet: Hashable {
    private var words: [UInt64]

    init(count: Int) {
        words = Array(repeating: 0, count: (count + 63) / 64)
    }

    func contains(_ member: Int) -> Bool { words[member / 64] & (1 << UInt64(member % 64)) != 0 }
    mutating func insert(_ member: Int) { words[member / 64] |= 1 << UInt64(member % 64) }
    mutating func remove(_ member: Int) { words[member / 64] &= ~(1 << UInt64(member % 64)) }
}

/// Which revisions of settings calls still have to find.
///
/// A setting never has a revision again that it has lost. So a write must not come before a call that was shown what it
/// replaces.
struct WantedRevisions {
    private struct Place: Hashable {
        let setting: Int
        let revision: Int64
    }

    /// For each call the revisions that it found.
    private let found: [[Place]]
    private var counts: [Place: Int] = [:]

    init(_ calls: [Call]) {
        found = calls.map { call in
            call.sightsBefore.compactMap { sight in sight.revision.map { Place(setting: sight.setting, revision: $0) } }
        }
        for place in found.joined() { counts[place, default: 0] += 1 }
    }

    /// Notes that a call was put in order.
    mutating func take(_ call: Int) {
        for place in found[call] { counts[place, default: 0] -= 1 }
    }

    /// Takes that back.
    mutating func putBack(_ call: Int) {
        for place in found[call] { counts[place, default: 0] += 1 }
    }

    /// True if a call that leads from one model to the other takes nothing away that another one has to find.
    func allow(_ call: Int, from old: Model, to new: Model) -> Bool {
        for (setting, standing) in old.standings.enumerated() where new.standings[setting] != standing {
            let place = Place(setting: setting, revision: standing.revision)
            guard let count = counts[place], count > 0 else { continue }
            if count > found[call].count(where: { $0 == place }) { return false }
        }
        return true
    }
}

extension Call {
    /// What the answer showed of the time before the call.
    fileprivate var sightsBefore: [Sight] {
        if case .committed(_, let before, _) = outcome { before } else { sights }
    }
}
