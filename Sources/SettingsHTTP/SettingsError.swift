public import SettingsAPI
public import SettingsModel

/// The error of a request to a daemon.
public enum SettingsError: Error, Equatable, Sendable {
    /// The outcome of a request.
    public typealias Outcome = Problem.Outcome

    /// The daemon refused it, or could not do it. With the revision that the answer was tagged with, if it was: a setting
    /// that is not set has one too, good for a guard.
    case problem(Problem, revision: Revision?)
    /// No daemon could be reached, or the connection ended before the answer was complete.
    case unreachable(String, outcome: Outcome)
    /// There was no answer in time; with the address that was asked.
    case timedOut(String, outcome: Outcome)
    /// The request was not sent, because its ``AccessToken`` cannot be read or is not a valid token. The text is a complete
    /// message, which contains the path of a token file. The outcome is unknown only if an earlier attempt of the same
    /// write may have been done.
    case unusableToken(String, outcome: Outcome)
    /// The bytes that came are no answer of a daemon.
    case malformedAnswer(String, outcome: Outcome)
    /// The task that waited for the answer was cancelled.
    case cancelled(outcome: Outcome)
}

extension SettingsError {
    /// The outcome of the request: if it is unknown, a write can be sent again with the
    /// idempotency key that it had; without one, look first.
    public var outcome: Outcome {
        switch self {
        case .problem(let problem, _): problem.isKnownNotDone ? .notDone : .unknown
        case .unreachable(_, let outcome), .timedOut(_, let outcome), .unusableToken(_, let outcome),
            .malformedAnswer(_, let outcome), .cancelled(let outcome):
            outcome
        }
    }

    /// The refusal of the daemon; nil if there is none.
    public var problem: Problem? {
        if case .problem(let problem, _) = self { problem } else { nil }
    }

    /// The code of the refusal, if it is known here.
    public var code: ErrorCode? {
        problem?.code
    }

    /// The status of the refusal.
    public var status: Int? {
        problem?.status
    }

    /// True if the same request may succeed later.
    public var isTransient: Bool {
        switch self {
        case .problem(let problem, _): problem.isTransient
        case .unreachable, .timedOut: true
        case .unusableToken, .malformedAnswer, .cancelled: false
        }
    }
}

extension SettingsError {
    /// There was no answer in time. The caller adds the address.
    static func late(outcome: Outcome) -> SettingsError {
        .timedOut("the daemon did not answer in time", outcome: outcome)
    }

    /// The error of a request that was not sent because of its token.
    init(_ error: TokenError) {
        self =
            error.kind == .late
            ? .timedOut(error.message, outcome: .notDone) : .unusableToken(error.message, outcome: .notDone)
    }
}

extension SettingsError: CustomStringConvertible {
    /// The cause, and the outcome of a write if it is unknown.
    public var description: String {
        switch self {
        case .problem(let problem, _): problem.description
        case .unreachable(let reason, let outcome): "no answer from the daemon: \(reason)\(Self.remark(outcome))"
        case .timedOut(let reason, let outcome), .unusableToken(let reason, let outcome):
            "\(reason)\(Self.remark(outcome))"
        case .malformedAnswer(let reason, let outcome):
            "the response is not from a settings daemon: \(reason)\(Self.remark(outcome))"
        case .cancelled(let outcome): "cancelled\(Self.remark(outcome))"
        }
    }

    /// Returns the error with the address that was asked, where the reason does not name it.
    func at(_ address: ServerAddress) -> SettingsError {
        switch self {
        case .unreachable(let reason, let outcome): .unreachable("\(address): \(reason)", outcome: outcome)
        case .malformedAnswer(let reason, let outcome): .malformedAnswer("\(address): \(reason)", outcome: outcome)
        case .timedOut(let reason, let outcome): .timedOut("\(address): \(reason)", outcome: outcome)
        case .problem(var problem, let revision) where problem.codeName.isEmpty:
            {
                problem.detail = "\(address): \(problem.detail)"
                return .problem(problem, revision: revision)
            }()
        case .problem, .unusableToken, .cancelled: self
        }
    }

    private static func remark(_ outcome: Outcome) -> String {
        outcome == .unknown ? "; the daemon may have done the write: read the value before you repeat the write" : ""
    }
}
