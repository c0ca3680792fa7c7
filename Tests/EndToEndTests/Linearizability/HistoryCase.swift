import Testing

/// A history written by hand: calls, and commits that no answer reported. The three settings start with the value 0 at
/// revision 1.
///
/// In the tables, `.read(1, 3...4, .at(0, 5, 2), at: 2)` is a read of client 1, sent at the time 3 and answered at the
/// time 4, that shows the setting 0 with the value 5 and the revision 2, and the cursor 2.
/// `.commit(0, 1...2, [0: .set(5)], 2)` is a write of client 0, with its steps and the revision of its commit.
/// `.lost(0, 1..., [0: .set(5)])` is a write that was sent at the time 1 and never answered.
struct HistoryCase: CustomTestStringConvertible {
    let name: String
    /// True if the check must accept the history.
    let isCorrect: Bool
    /// True if overlapping calls of one client must take effect in the order of sending. In all cases, the cursors in
    /// the answers to one client must not decrease.
    let isPipelined: Bool
    /// The commits that no answer reported, such as the commits of unanswered writes: the new values of the settings by
    /// revision.
    let lost: [Int64: [Int: Int64?]]
    let calls: [Call]

    var testDescription: String { name }

    static func correct(
        _ name: String, isPipelined: Bool = false, lost: [Int64: [Int: Int64?]] = [:], _ calls: Call...
    ) -> HistoryCase {
        HistoryCase(name: name, isCorrect: true, isPipelined: isPipelined, lost: lost, calls: calls)
    }

    static func incorrect(
        _ name: String, isPipelined: Bool = false, lost: [Int64: [Int: Int64?]] = [:], _ calls: Call...
    ) -> HistoryCase {
        HistoryCase(name: name, isCorrect: false, isPipelined: isPipelined, lost: lost, calls: calls)
    }

    /// The commits in `lost` and the commits of answered writes, in the order of their revisions.
    var timeline: Timeline {
        var commits = lost
        for case .committed(let revision, _, let after) in calls.map(\.outcome) {
            for shownSetting in after {
                commits[revision, default: [:]][shownSetting.setting] = .some(shownSetting.value)
            }
        }
        var timeline = Timeline(from: Model((0..<3).map { _ in Model.SettingValue(value: 0, revision: 1) }))
        for (revision, values) in commits.sorted(by: { $0.key < $1.key }) { timeline.append(values, at: revision) }
        return timeline
    }
}

extension HistoryCase {
    static let all = correctCases + incorrectCases

    private static let correctCases: [HistoryCase] = [
        .correct(
            "a read after a write",
            .commit(0, 1...2, [0: .set(5)], 2, before: [.at(0, 0, 1)], after: .at(0, 5, 2)),
            .read(1, 3...4, .at(0, 5, 2), at: 2)),
        .correct(
            "reads during a write show the value before or after the write",
            .commit(0, 1...9, [0: .set(5)], 2, after: .at(0, 5, 2)), .read(1, 2...3, .at(0, 0, 1), at: 1),
            .read(1, 4...5, .at(0, 5, 2), at: 2)),
        .correct(
            "the write that was sent last takes effect first",
            .commit(0, 1...9, [0: .add(1)], 3, before: [.at(0, 7, 2)], after: .at(0, 8, 3)),
            .commit(1, 2...8, [0: .set(7)], 2, before: [.at(0, 0, 1)], after: .at(0, 7, 2))),
        .correct(
            "one of two concurrent writes with the same condition is refused",
            .commit(0, 1...5, if: [.isAt(0, revision: 1)], [0: .set(5)], 2, after: .at(0, 5, 2)),
            .write(1, 1...5, if: [.isAt(0, revision: 1)], [0: .set(6)], .refused(.condition, [.at(0, 5, 2)]), at: 2)),
        .correct(
            "an addition to an unset setting is refused, and a removal of an unset setting changes nothing",
            .commit(0, 1...2, [0: .remove], 2, after: .at(0, nil, 2)),
            .write(0, 3...4, [0: .add(1)], .refused(.unset, []), at: 2),
            .write(1, 3...4, [0: .remove], .unchanged([.at(0, nil, 2)]), at: 2),
            .commit(0, 5...6, if: [.isStored(0, false)], [0: .set(0)], 3, after: .at(0, 0, 3))),
        .correct(
            "a transaction is seen completely, and unchanged settings keep their revisions",
            .commit(0, 1...4, [0: .set(5), 1: .add(1), 2: .set(0)], 2, after: .at(0, 5, 2), .at(1, 1, 2)),
            .read(1, 2...3, .at(0, 0), .at(1, 0), at: 1), .read(1, 5...6, .at(0, 5), .at(1, 1), at: 2),
            .read(1, 7...8, .at(2, 0, 1), at: 2)),
        .correct(
            "a lost write took effect after a later write", lost: [3: [0: 5]], .lost(0, 1..., [0: .set(5)]),
            .read(1, 2...3, .at(0, 0, 1), at: 1),
            .commit(1, 4...5, [0: .set(6)], 2, before: [.at(0, 0, 1)], after: .at(0, 6, 2)),
            .read(1, 6...7, .at(0, 5, 3), at: 3)),
        .correct(
            "a lost write took effect, and no answer showed its revision", lost: [2: [0: 2]],
            .lost(0, 1..., [0: .add(2)]),
            .commit(1, 4...5, [0: .add(1)], 3, before: [.at(0, 2)], after: .at(0, 3, 3))),
        .correct("a lost write never took effect", .lost(0, 1..., [0: .set(5)]), .read(1, 2...3, .at(0, 0, 1), at: 1)),
        .correct(
            "two lost writes, each of which explains only one of two commits", lost: [2: [0: 6], 3: [0: 5, 1: 5]],
            .lost(0, 1..., [0: .set(5), 1: .set(5)]),
            .lost(1, 1..., [0: .set(6)]), .read(2, 2...3, .at(0, 6, 2), at: 2), .read(2, 4...5, .at(0, 5, 3), at: 3),
            .read(2, 6...7, .at(1, 5, 3), at: 3)),
        .correct(
            "two lost writes that explain the first commit, only one of which explains the second",
            lost: [2: [0: 1], 3: [0: 2]], .lost(0, 1..., [0: .add(1)]),
            .lost(1, 1..., if: [.isAt(0, revision: 1)], [0: .add(1)])),
        .correct(
            "calls of one connection overlap and take effect in order", isPipelined: true,
            .commit(0, 1...9, [0: .set(5)], 2, after: .at(0, 5, 2)), .read(0, 1...9, .at(0, 5, 2), at: 2)),
    ]

    static let incorrectCases: [HistoryCase] = [
        .incorrect(
            "a stale read",
            .commit(0, 1...2, [0: .set(5)], 2, after: .at(0, 5, 2)), .read(1, 3...4, .at(0, 0, 1), at: 1)),
        .incorrect(
            "a stale read that shows no revision",
            .commit(0, 1...2, [0: .set(5)], 2, after: .at(0, 5, 2)), .read(1, 3...4, .at(0, 0))),
        .incorrect(
            "a later read that shows an older value while the write is pending",
            .commit(0, 1...9, [0: .set(5)], 2, after: .at(0, 5, 2)), .read(1, 2...3, .at(0, 5)),
            .read(2, 4...5, .at(0, 0))),
        .incorrect(
            "a lost update",
            .commit(0, 1...5, [0: .add(1)], 2, after: .at(0, 1, 2)),
            .commit(1, 1...5, [0: .add(1)], 3, after: .at(0, 1, 3))),
        .incorrect(
            "two writes with the same tag as condition",
            .commit(0, 1...5, if: [.isAt(0, revision: 1)], [0: .set(5)], 2, after: .at(0, 5, 2)),
            .commit(1, 1...5, if: [.isAt(0, revision: 1)], [0: .set(6)], 3, after: .at(0, 6, 3))),
        .incorrect(
            "a value that was never written",
            .commit(0, 1...2, [0: .set(5)], 2, after: .at(0, 5, 2)), .read(1, 3...4, .at(0, 7, 3), at: 3)),
        .incorrect("a value that was never written, without a revision", .read(1, 3...4, .at(0, 7))),
        .incorrect(
            "another value at the revision of a write",
            .commit(0, 1...2, [0: .set(5)], 2, after: .at(0, 5, 2)), .read(1, 3...4, .at(0, 6, 2), at: 2)),
        .incorrect(
            "half a transaction in one read",
            .commit(0, 1...9, [0: .set(5), 1: .set(5)], 2, after: .at(0, 5, 2), .at(1, 5, 2)),
            .read(1, 2...3, .at(0, 5), .at(1, 0), at: 2)),
        .incorrect(
            "half a transaction in two reads",
            .commit(0, 1...9, [0: .set(5), 1: .set(5)], 2, after: .at(0, 5, 2), .at(1, 5, 2)),
            .read(1, 2...3, .at(0, 5, 2), at: 2), .read(2, 4...5, .at(1, 0, 1), at: 2)),
        .incorrect(
            "half a lost transaction", lost: [2: [0: 5, 1: 5]],
            .lost(0, 1..., [0: .set(5), 1: .set(5)]), .read(1, 2...3, .at(0, 5, 2), at: 2),
            .read(2, 4...5, .at(1, 0, 1), at: 2)),
        .incorrect(
            "a transaction whose answer omits a change",
            .commit(0, 1...2, [0: .set(5), 1: .set(5)], 2, after: .at(0, 5, 2))),
        .incorrect(
            "two transactions, each with a condition that the other violates",
            .commit(0, 1...5, if: [.hasValue(0, 0)], [1: .set(5)], 2, after: .at(1, 5, 2)),
            .commit(1, 1...5, if: [.hasValue(1, 0)], [0: .set(5)], 3, after: .at(0, 5, 3))),
        .incorrect(
            "a lost write that took effect twice", lost: [2: [0: 1], 3: [0: 2]],
            .lost(0, 1..., [0: .add(1)]), .read(1, 2...3, .at(0, 2), at: 3)),
        .incorrect(
            "a lost write that took effect twice, with another write between", lost: [2: [0: 5], 4: [0: 5]],
            .lost(0, 1..., [0: .set(5)]), .read(1, 2...3, .at(0, 5, 2), at: 2),
            .commit(1, 4...5, [0: .set(6)], 3, after: .at(0, 6, 3)), .read(1, 6...7, .at(0, 5, 4), at: 4)),
        .incorrect(
            "a repeated write that took effect twice", lost: [3: [0: 2]],
            .commit(0, 1...5, [0: .add(1)], 2, after: .at(0, 1, 2)),
            .commit(1, 6...7, [1: .set(5)], 4, after: .at(1, 5, 4)), .read(1, 8...9, .at(0, 2), at: 4)),
        .incorrect(
            "a commit of a lost write before the write was sent", lost: [2: [0: 5]],
            .read(1, 1...2, .at(0, 5, 2), at: 2), .lost(0, 3..., [0: .set(5)])),
        .incorrect(
            "a lost write that appears and disappears", lost: [2: [0: 5]],
            .lost(0, 1..., [0: .set(5)]), .read(1, 2...3, .at(0, 5, 2), at: 2), .read(1, 4...5, .at(0, 0, 1), at: 2)),
        .incorrect(
            "an acknowledged write that disappears",
            .commit(0, 1...2, [0: .set(5)], 2, after: .at(0, 5, 2)), .read(1, 3...4, .at(0, 0, 1), at: 1),
            .commit(1, 5...6, [0: .set(6)], 2, before: [.at(0, 0, 1)], after: .at(0, 6, 2))),
        .incorrect(
            "a refusal although the condition matched",
            .write(0, 1...2, if: [.isAt(0, revision: 1)], [0: .set(6)], .refused(.condition, [.at(0, 0, 1)]), at: 1)),
        .incorrect(
            "no change reported although the value changes", .write(0, 1...2, [0: .set(6)], .unchanged([]), at: 1)),
        .incorrect(
            "a read that overtakes a write sent before it on its connection", isPipelined: true,
            .commit(0, 1...9, [0: .set(5)], 2, after: .at(0, 5, 2)), .read(0, 1...9, .at(0, 0, 1), at: 2)),
        .incorrect(
            "the same revision twice", .commit(0, 1...5, [0: .set(5)], 2, after: .at(0, 5, 2)),
            .commit(1, 1...5, [1: .set(5)], 2, after: .at(1, 5, 2))),
        .incorrect(
            "revisions in the reverse order of time", .commit(0, 1...2, [0: .set(5)], 3, after: .at(0, 5, 3)),
            .commit(1, 3...4, [1: .set(5)], 2, after: .at(1, 5, 2))),
        .incorrect(
            "a cursor older than an answered write", .commit(0, 1...2, [0: .set(5)], 2, after: .at(0, 5, 2)),
            .read(1, 3...4, .at(1, 0, 1), at: 1)),
        .incorrect(
            "a cursor older than the cursor of an earlier read",
            .commit(0, 1...9, [0: .set(5)], 2, after: .at(0, 5, 2)),
            .read(1, 2...3, .at(0, 5, 2), at: 2), .read(2, 4...5, .at(1, 0, 1), at: 1)),
        .incorrect(
            "a cursor that goes back on a connection", .read(0, 1...9, .at(0, 0, 1), at: 4),
            .read(0, 2...9, .at(0, 0, 1), at: 3)),
        .incorrect(
            "a value newer than the cursor", lost: [4: [0: 5]], .lost(0, 1..., [0: .set(5)]),
            .read(1, 2...3, .at(0, 5, 4), at: 3)),
    ]
}

/// Short forms of calls for the cases.
extension Call.ShownSetting {
    /// A setting with its value, and with its revision if the answer has it.
    static func at(_ setting: Int, _ value: Int64?, _ revision: Int64? = nil) -> Call.ShownSetting {
        Call.ShownSetting(setting: setting, value: value, revision: revision)
    }
}

extension Call {
    /// A call with its times of sending and answer.
    private init(_ client: Int, _ time: ClosedRange<UInt64>, _ request: Request, _ outcome: Outcome, at cursor: Int64?)
    {
        self.init(client: client, invoked: time.lowerBound, answered: time.upperBound, request: request)
        self.outcome = outcome
        self.cursor = cursor
    }

    static func read(
        _ client: Int, _ time: ClosedRange<UInt64>, _ shownSettings: ShownSetting..., at cursor: Int64? = nil
    ) -> Call {
        Call(client, time, .read(shownSettings.map(\.setting)), .shown(shownSettings), at: cursor)
    }

    static func write(
        _ client: Int, _ time: ClosedRange<UInt64>, if conditions: [Condition] = [], _ steps: [Int: Action],
        _ outcome: Outcome, at cursor: Int64? = nil
    ) -> Call {
        let steps = steps.sorted { $0.key < $1.key }.map { Step(setting: $0.key, action: $0.value) }
        return Call(client, time, .write(if: conditions, steps), outcome, at: cursor)
    }

    /// A write that the daemon acknowledged. `before` and `after` are the settings in the answer, as they were before
    /// and after the commit. `after` must have exactly the settings that the commit changed.
    static func commit(
        _ client: Int, _ time: ClosedRange<UInt64>, if conditions: [Condition] = [], _ steps: [Int: Action],
        _ revision: Int64, before: [ShownSetting] = [], after: ShownSetting...
    ) -> Call {
        write(client, time, if: conditions, steps, .committed(revision, before: before, after: after), at: revision)
    }

    /// A write that was never answered.
    static func lost(
        _ client: Int, _ time: PartialRangeFrom<UInt64>, if conditions: [Condition] = [], _ steps: [Int: Action]
    ) -> Call {
        write(client, time.lowerBound...UInt64.max, if: conditions, steps, .unknown)
    }
}
