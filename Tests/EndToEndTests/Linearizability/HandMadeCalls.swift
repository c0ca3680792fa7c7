/// Short ways to write down calls for tests of the checker.
extension Call.Sight {
    /// A setting with its value, and its revision if that is known.
    static func at(_ setting: Int, _ value: Int64?, _ revision: Int64? = nil) -> Call.Sight {
        Call.Sight(setting: setting, value: value, revision: revision)
    }
}

extension Call {
    /// A call that lasted for a time; an open end means that it was never answered.
    private init(_ client: Int, _ time: ClosedRange<UInt64>, _ request: Request, _ outcome: Outcome, at cursor: Int64?)
    {
        self.init(client: client, invoked: time.lowerBound, answered: time.upperBound, request: request)
        self.outcome = outcome
        self.cursor = cursor
    }

    static func read(
        _ client: Int, _ time: ClosedRange<UInt64>, _ sights: Sight..., at cursor: Int64? = nil
    ) -> Call {
        Call(client, time, .read(sights.map(\.setting)), .shown(sights), at: cursor)
    }

    static func write(
        _ client: Int, _ time: ClosedRange<UInt64>, if conditions: [Condition] = [], _ steps: [Int: Action],
        _ outcome: Outcome, at cursor: Int64? = nil
    ) -> Call {
        let steps = steps.sorted { $0.key < $1.key }.map { Step(setting: $0.key, action: $0.value) }
        return Call(client, time, .write(if: conditions, steps), outcome, at: cursor)
    }

    /// A write that was answered as made.
    static func commit(
        _ client: Int, _ time: ClosedRange<UInt64>, if conditions: [Condition] = [], _ steps: [Int: Action],
        _ revision: Int64, before: [Sight] = [], after: Sight...
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
