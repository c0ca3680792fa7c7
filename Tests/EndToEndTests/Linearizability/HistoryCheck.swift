/// A check that a daemon that does one thing at a time explains all answers.
struct HistoryCheck {
    /// What is wrong; empty if the history is linearizable.
    let violations: [String]

    /// - Parameters:
    ///   - history: all calls; those of one connection in the order in which they were sent.
    ///   - initial: what was there before the first of them.
    ///   - isPipelined: true if calls of one connection overlap, and must take effect in order all the same.
    init(_ history: [Call], from initial: Model, isPipelined: Bool = false) {
        var violations = RevisionOrder(history, from: initial).violations()
        // With an order beyond that of real time, parts that are in order by themselves need not be so together.
        let groups = isPipelined ? [history] : Self.groups(of: history, count: initial.standings.count)
        for group in groups {
            switch LinearizationSearch(group, from: initial, isOrdered: isPipelined).run() {
            case .linearizable: continue
            case .impossible(let reason): violations.append("not linearizable: \(reason)")
            case .undecided(let reason): violations.append("too many orders to try: \(reason)")
            }
        }
        self.violations = violations
    }

    /// The violations as a message, or as many of them as one reads.
    var summary: String {
        violations.prefix(5).joined(separator: "\n")
            + (violations.count > 5 ? "\n… and \(violations.count - 5) more" : "")
    }

    /// Calls about settings that no call connects: each group can be looked at by itself.
    static func groups(of history: [Call], count: Int) -> [[Call]] {
        var leaders = Array(0..<count)
        func leader(_ setting: Int) -> Int {
            var setting = setting
            while leaders[setting] != setting { setting = leaders[setting] }
            return setting
        }
        for call in history {
            guard let first = call.settings.first else { continue }
            for other in call.settings.dropFirst() { leaders[leader(other)] = leader(first) }
        }
        let groups = Dictionary(grouping: history.filter { !$0.settings.isEmpty }) { leader($0.settings[0]) }
        return groups.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// What must hold of revisions and cursors, looked at directly: quick, and with a message that names the calls.
///
/// Revisions grow with commits, so they tell an order; whatever contradicts real time in it is wrong.
struct RevisionOrder {
    private let history: [Call]
    private let initial: Model

    init(_ history: [Call], from initial: Model) {
        self.history = history
        self.initial = initial
    }

    /// What is wrong; empty if nothing is.
    func violations() -> [String] {
        repeatedCommits() + contradictingValues() + realTime() + connections() + withinCalls()
    }

    /// Each acknowledged commit has a revision of its own.
    private func repeatedCommits() -> [String] {
        let commits = Dictionary(grouping: history.filter { $0.commit != nil }, by: { $0.commit ?? 0 })
        return commits.filter { $0.value.count > 1 }.sorted { $0.key < $1.key }.map { revision, calls in
            "several writes got revision \(revision): \(calls)"
        }
    }

    /// A setting at a revision has one value, and it is one that was written.
    private func contradictingValues() -> [String] {
        var values: [Place: Int64?] = [:]
        for (setting, standing) in initial.standings.enumerated() {
            values[Place(setting: setting, revision: standing.revision)] = .some(standing.value)
        }
        for case .committed(_, _, let after) in history.map(\.outcome) {
            for sight in after {
                guard let revision = sight.revision else { continue }
                values[Place(setting: sight.setting, revision: revision)] = .some(sight.value)
            }
        }
        let unknown = history.filter { $0.isUnknown && !$0.isRead }
        var violations: [String] = []
        for call in history {
            for sight in call.sights {
                guard let revision = sight.revision else { continue }
                let place = Place(setting: sight.setting, revision: revision)
                if let value = values[place] {
                    if value != sight.value {
                        violations.append("\(sight) in \(call) had another value at that revision: \(value ?? 0)")
                    }
                } else if unknown.contains(where: { $0.mayHaveWritten(sight) && $0.invoked <= call.answered }) {
                    values[place] = .some(sight.value)
                } else {
                    violations.append("nobody wrote \(sight), which was seen by \(call)")
                }
            }
        }
        return violations
    }

    private struct Place: Hashable {
        let setting: Int
        let revision: Int64
    }

    /// Whatever was answered before a call was sent, the call comes after it in history.
    private func realTime() -> [String] {
        let sent = history.filter { !$0.isUnknown }.sorted { $0.invoked < $1.invoked }
        let answered = sent.sorted { $0.answered < $1.answered }
        var violations: [String] = []
        var floor: (place: Int64, call: Call)?
        var next = 0
        for call in sent {
            while next < answered.count, answered[next].answered < call.invoked {
                let place = max(answered[next].cursor ?? 0, answered[next].commit ?? 0)
                if place > floor?.place ?? -1 { floor = (place, answered[next]) }
                next += 1
            }
            guard let floor else { continue }
            if let cursor = call.cursor, cursor < floor.place {
                violations.append("\(call) stands before \(floor.call), which was answered before it was sent")
            }
            if let commit = call.commit, commit <= floor.place {
                violations.append("\(call) was committed before \(floor.call), which was answered before it was sent")
            }
        }
        return violations
    }

    /// The cursors of a connection never go back, also where requests overlap.
    private func connections() -> [String] {
        var last: [Int: Call] = [:]
        var violations: [String] = []
        for call in history where call.cursor != nil && !call.isUnknown {
            if let before = last[call.client], before.cursor ?? 0 > call.cursor ?? 0 {
                violations.append("on one connection the cursor went back from \(before) to \(call)")
            }
            last[call.client] = call
        }
        return violations
    }

    /// An answer shows nothing from after its cursor, and a commit comes after what it changed.
    private func withinCalls() -> [String] {
        var violations: [String] = []
        for call in history {
            if let cursor = call.cursor {
                for sight in call.sights where sight.revision ?? 0 > cursor {
                    violations.append("\(sight) is from after the cursor of \(call)")
                }
                if call.commit ?? 0 > cursor { violations.append("the commit is after the cursor in \(call)") }
            }
            guard case .committed(let revision, let before, let after) = call.outcome else { continue }
            for sight in before where sight.revision ?? -1 >= revision {
                violations.append("\(sight) was before, but its revision is not, in \(call)")
            }
            for sight in after where sight.revision ?? revision != revision {
                violations.append("\(sight) changed at another revision than \(call)")
            }
        }
        return violations
    }
}

extension Call {
    /// True if a write of unknown outcome can have led to this.
    fileprivate func mayHaveWritten(_ sight: Sight) -> Bool {
        guard case .write(_, let steps) = request else { return false }
        let touching = steps.filter { $0.setting == sight.setting }
        switch touching.last?.action {
        case .set(let value)?: return sight.value == value
        case .remove?: return sight.value == nil
        case .add?: return sight.value != nil
        case nil: return false
        }
    }
}
