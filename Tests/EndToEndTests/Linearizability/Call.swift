/// One request of a client with its answer and the times of both.
struct Call: Sendable {
    /// The number of the client. The list of all recorded calls has the calls of one client in the order in which the
    /// client sent them.
    var client = 0
    /// The time before the first byte was sent, in nanoseconds of a monotonic clock.
    let invoked: UInt64
    /// The time after the last byte of the answer was read; `UInt64.max` without an answer.
    var answered = UInt64.max
    let request: Request
    var outcome = Outcome.unknown
    /// The revision of the answer's cursor.
    var cursor: Int64?

    /// The request. Settings are numbered by their position among the settings of the test.
    enum Request: Sendable {
        case read([Int])
        case write(if: [Condition], [Step])
    }

    /// A precondition of a write.
    enum Condition: Sendable {
        case isAt(Int, revision: Int64)
        case isStored(Int, Bool)
        case hasValue(Int, Int64)
    }

    /// One operation of a write.
    struct Step: Sendable {
        let setting: Int
        let action: Action
    }

    enum Action: Sendable {
        case set(Int64)
        case add(Int64)
        case remove
    }

    /// The result according to the answer.
    enum Outcome: Sendable {
        case shown([ShownSetting])
        /// The write made the commit with this revision. `after` has exactly the settings that changed.
        case committed(Int64, before: [ShownSetting], after: [ShownSetting])
        case unchanged([ShownSetting])
        case refused(Refusal, [ShownSetting])
        /// The write may have been made at any time after it was sent, or never.
        case unknown
    }

    enum Refusal: Sendable {
        /// A precondition did not match.
        case condition
        /// An addition had no value to add to.
        case unset
    }

    /// A setting as an answer showed it.
    struct ShownSetting: Sendable {
        let setting: Int
        /// Nil for a setting without a value.
        let value: Int64?
        /// Nil if the answer does not contain the revision.
        var revision: Int64?
    }
}

extension Call {
    var isUnknown: Bool {
        if case .unknown = outcome { true } else { false }
    }

    var isRead: Bool {
        if case .read = request { true } else { false }
    }

    /// The revision of the commit, if the call made a commit.
    var commit: Int64? {
        if case .committed(let revision, _, _) = outcome { revision } else { nil }
    }

    /// All settings that the answer showed.
    var shownSettings: [ShownSetting] {
        switch outcome {
        case .shown(let shownSettings), .unchanged(let shownSettings), .refused(_, let shownSettings): shownSettings
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
        let suffix = cursor.map { " at \($0)" } ?? ""
        return "\(time) client \(client): \(request) → \(outcome)\(suffix)"
    }
}

extension Call.ShownSetting: CustomStringConvertible {
    var description: String {
        "\(setting)=\(value.map(String.init) ?? "unset")" + (revision.map { "@\($0)" } ?? "")
    }
}
