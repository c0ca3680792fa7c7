public import SettingsAPI
public import SettingsModel

/// The error of a request to a daemon.
public enum SettingsError: Error, Equatable, Sendable {
    /// The outcome of a request.
    public typealias Outcome = Problem.Outcome

    /// The daemon refused the request, or could not carry it out. `revision` is the revision in the entity tag of the
    /// answer, if there is one. A program can use it as a condition of a later write, even for a setting without a
    /// value.
    case problem(Problem, revision: Revision?)
    /// No daemon could be reached, or the connection ended before the answer was complete.
    case unreachable(String, outcome: Outcome)
    /// There was no answer before the timeout. The text contains the address of the daemon.
    case timedOut(String, outcome: Outcome)
    /// The request was not sent, because its ``AccessToken`` cannot be read or is not a valid token. The text is a
    /// complete message, which contains the path of a token file. The outcome is unknown only if the daemon may have
    /// done the write at an earlier attempt.
    case unusableToken(String, outcome: Outcome)
    /// The received bytes are not a valid answer of a daemon.
    case malformedAnswer(String, outcome: Outcome)
    /// The task that waited for the answer was cancelled.
    case cancelled(outcome: Outcome)
}

extension SettingsError {
    /// The outcome of the request. If it is unknown, the daemon may have done the write. A write with an idempotency
    /// key can be sent again with the same key. Without a key, read the value first.
    public var outcome: Outcome {
        switch self {
        case .problem(let problem, _): problem.isKnownNotDone ? .notDone : .unknown
        case .unreachable(_, let outcome), .timedOut(_, let outcome), .unusableToken(_, let outcome),
            .malformedAnswer(_, let outcome), .cancelled(let outcome):
            outcome
        }
    }

    /// The refusal of the daemon. Nil for other errors.
    public var problem: Problem? {
        if case .problem(let problem, _) = self { problem } else { nil }
    }

    /// The code of the refusal. Nil for other errors, and if this version of the library does not know the code.
    public var code: ErrorCode? {
        problem?.code
    }

    /// The HTTP status of the refusal. Nil for other errors.
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
    /// Returns the error of a request without an answer before its deadline. The calling code adds the address
    /// with `withAddress(_:)`.
    static func timeout(outcome: Outcome) -> SettingsError {
        .timedOut("the daemon did not answer in time", outcome: outcome)
    }

    /// The error of a request that was not sent because of its token.
    init(_ error: TokenError) {
        self =
            error.kind == .timedOut
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

    /// Returns the error with the address of the daemon before its reason. Returns a refusal with an error code, an
    /// unusable token and a cancellation unchanged.
    func withAddress(_ address: ServerAddress) -> SettingsError {
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

    /// Returns the end of an error message: a warning if the outcome is unknown, otherwise nothing.
    private static func remark(_ outcome: Outcome) -> String {
        outcome == .unknown ? "; the daemon may have done the write: read the value before you repeat the write" : ""
    }
}
