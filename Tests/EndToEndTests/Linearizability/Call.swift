/// One request of a client with its answer, and when both were.
struct Call: Sendable {
    /// The connection that it went over. Calls of one connection stand in a history in the order in which they were sent.
    var client = 0
    /// Before its first byte was sent, in nanoseconds of a clock that never goes back.
    let invoked: UInt64
    /// After the last byte of its answer was read; never, if there was no answer.
    var answered = UInt64.max
    let request: Request
    var outcome = Outcome.unknown
    /// The place in history that the answer named.
    var cursor: Int64?

    /// What was asked for. Settings go by their position among those of the test.
    enum Request: Sendable {
        case read([Int])
        case write(if: [Condition], [Step])
    }

    /// What must hold for a write to be made.
    enum Condition: Sendable {
        case isAt(Int, revision: Int64)
        case isStored(Int, Bool)
        case hasValue(Int, Int64)
    }

    /// One thing that a write does.
    struct Step: Sendable {
        let setting: Int
        let action: Action
    }

    enum Action: Sendable {
        case set(Int64)
        case add(Int64)
        case remove
    }

    /// What the answer said.
    enum Outcome: Sendable {
        case shown([Sight])
        /// The write was made. `after` names exactly the settings that changed.
        case committed(Int64, before: [Sight], after: [Sight])
        case unchanged([Sight])
        case refused(Refusal, [Sight])
        /// The write may have been made at any time after it was sent, or never.
        case unknown
    }

    enum Refusal: Sendable {
        /// A condition did not hold.
        case condition
        /// There was no value to add to.
        case unset
    }

    /// A setting as an answer showed it.
    struct Sight: Sendable {
        let setting: Int
        /// Nil if it had none.
        let value: Int64?
        /// Nil if the answer did not have it.
        var revision: Int64?
    }
}

extension Call {
    /// True if its outcome is unknown.
    var isUnknown: Bool {
        if case .unknown = outcome { true } else { false }
    }

    var isRead: Bool {
        if case .read = request { true } else { false }
    }

    /// The revision of the commit that it made, if it did.
    var commit: Int64? {
        if case .committed(let revision, _, _) = outcome { revision } else { nil }
    }

    /// Everything that the answer showed.
    var sights: [Sight] {
        switch outcome {
        case .shown(let sights), .unchanged(let sights), .refused(_, let sights): sights
        case .committed(_, let before, let after): before + after
        case .unknown: []
        }
    }
}

extension Call.Condition {
    var setting: Int {
        switch self {
        case .isAt(let setting, _), .isStored(let setting, _), .hasValue(let setting, _): setting
        }
    }
}

extension Call: CustomStringConvertible {
    var description: String {
        let time = answered == .max ? "[\(invoked)…" : "[\(invoked)…\(answered)]"
        let place = cursor.map { " at \($0)" } ?? ""
        return "\(time) client \(client): \(request) → \(outcome)\(place)"
    }
}

extension Call.Sight: CustomStringConvertible {
    var description: String {
        "\(setting)=\(value.map(String.init) ?? "unset")" + (revision.map { "@\($0)" } ?? "")
    }
}
