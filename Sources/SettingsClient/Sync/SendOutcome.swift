internal import SettingsAPI
internal import SettingsModel

/// What an answer, or that there was none, means for a write that is kept. It does no input and output.
enum SendOutcome: Hashable, Sendable {
    /// It is done.
    case done(WriteSummary)
    /// It is refused.
    case refused(Problem)
    /// It is tried again, at the earliest after so long.
    case waits(reason: String, atLeast: Duration, isAnswer: Bool)
    /// It has met a conflict, and may be done in another form: what is there has to be known for that.
    case conflict(Problem, current: SettingState?)

    /// Nobody knows who answered, so nobody is obeyed for ever.
    private static let longestAsked = Duration.seconds(300)

    init(_ result: Result<WriteSummary, BackendError>, of change: PendingChange) {
        switch result {
        case .success(let summary): self = .done(summary)
        case .failure(.unreachable(let reason, _)), .failure(.kept(let reason)):
            self = .waits(reason: reason, atLeast: .zero, isAnswer: false)
        case .failure(.unavailable(let reason, let asked)):
            self = .waits(reason: reason, atLeast: min(max(.zero, asked), Self.longestAsked), isAnswer: true)
        case .failure(.refused(let problem)):
            if problem.isNoVerdict {
                let asked = Duration.milliseconds(max(0, problem.retryAfterMs ?? 0))
                self = .waits(reason: problem.description, atLeast: min(asked, Self.longestAsked), isAnswer: true)
            } else if change.isConflict(problem) {
                let current = BackendError.refused(problem).current
                self = .conflict(problem, current: current.flatMap { $0.isConcealed ? nil : $0 })
            } else {
                self = .refused(problem)
            }
        }
    }
}

extension Problem {
    /// Whether it says nothing about what was asked: only that it cannot be done at the moment, or it is somebody else who
    /// says it, as a daemon gives everything a code.
    var isNoVerdict: Bool {
        isTransient || status >= 500 && status != 501 && status != 505 || codeName.isEmpty
    }
}

extension BackendError {
    /// Whether it is what the server says about what was asked, and would say again.
    var isVerdict: Bool {
        if case .refused(let problem) = self { !problem.isNoVerdict } else { false }
    }
}
