public import SettingsAPI
public import SettingsModel

/// Why a request to the daemon did not succeed.
public enum SettingsError: Error, Hashable, Sendable {
    /// What became of a request.
    public typealias Outcome = Problem.Outcome

    /// The daemon refused it, or could not do it. With the revision that the answer was tagged with, if it was: a setting
    /// that is not set has one too, good for a guard.
    case problem(Problem, revision: Revision?)
    /// Nobody could be reached, or the connection ended before the answer was complete.
    case unreachable(String, outcome: Outcome)
    /// There was no answer in time, as this says with the address that was asked.
    case timedOut(String, outcome: Outcome)
    /// What came is no answer of a daemon.
    case malformedAnswer(String, outcome: Outcome)
    /// The task that waited for the answer was cancelled.
    case cancelled(outcome: Outcome)
}

extension SettingsError {
    /// Whether the request may have changed something. A write of which this is unknown can be sent again with the
    /// idempotency key that it had; without one, look first.
    public var outcome: Outcome {
        switch self {
        case .problem(let problem, _): problem.isKnownNotDone ? .notDone : .unknown
        case .unreachable(_, let outcome), .timedOut(_, let outcome), .malformedAnswer(_, let outcome),
            .cancelled(let outcome):
            outcome
        }
    }

    /// What the daemon said, if it was the daemon.
    public var problem: Problem? {
        if case .problem(let problem, _) = self { problem } else { nil }
    }

    /// The code of what the daemon said, if it is known here.
    public var code: ErrorCode? {
        problem?.code
    }

    /// The status of what the daemon said.
    public var status: Int? {
        problem?.status
    }

    /// Whether the same request may succeed later without anybody changing it.
    public var isTransient: Bool {
        switch self {
        case .problem(let problem, _): problem.isTransient
        case .unreachable, .timedOut: true
        case .malformedAnswer, .cancelled: false
        }
    }
}

extension SettingsError {
    /// There was no answer in time, from an address that the caller adds.
    static func late(outcome: Outcome) -> SettingsError {
        .timedOut("no answer in time", outcome: outcome)
    }
}

extension SettingsError: CustomStringConvertible {
    /// What went wrong, and what that means for a write.
    public var description: String {
        switch self {
        case .problem(let problem, _): problem.description
        case .unreachable(let reason, let outcome): "no answer from the daemon: \(reason)\(Self.remark(outcome))"
        case .timedOut(let reason, let outcome): "\(reason)\(Self.remark(outcome))"
        case .malformedAnswer(let reason, let outcome): "not an answer of a daemon: \(reason)\(Self.remark(outcome))"
        case .cancelled(let outcome): "cancelled\(Self.remark(outcome))"
        }
    }

    /// The same with the address that was asked, where the reason alone does not tell.
    func at(_ address: ServerAddress) -> SettingsError {
        switch self {
        case .unreachable(let reason, let outcome): .unreachable("\(address): \(reason)", outcome: outcome)
        case .malformedAnswer(let reason, let outcome): .malformedAnswer("\(address): \(reason)", outcome: outcome)
        case .timedOut(let reason, let outcome): .timedOut("\(address): \(reason)", outcome: outcome)
        case .problem, .cancelled: self
        }
    }

    private static func remark(_ outcome: Outcome) -> String {
        outcome == .unknown ? "; it may have been done nevertheless" : ""
    }
}
