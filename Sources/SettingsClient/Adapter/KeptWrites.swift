internal import SettingsModel

// What becomes of writes that are kept: the replica shows them until they end, and what was refused is an issue.

extension Replica {
    func apply(_ news: KeptWriteNews) {
        switch news {
        case .kept(let write, let isInherited):
            switch write.action {
            case .reset: change { $0.beginReset(write.requestKey) }
            // The program's own was shown before it was sent.
            case .transaction: if isInherited { change { $0.begin(write.requestKey, write.operations) } }
            }
        case .done(let write, let summary):
            switch write.action {
            case .reset: change { $0.endReset(write.requestKey, summary) }
            case .transaction: change { $0.settle(write.requestKey, write.operations, summary) }
            }
        case .refused(let write, let problem, _):
            change { state in
                state.learn(problem)
                switch write.action {
                case .reset: state.endReset(write.requestKey, nil)
                case .transaction: state.abandon(write.requestKey, write.operations)
                }
            }
        case .stalled, .trouble, .unfollowed: break
        }
    }
}

extension KeptWriteNews {
    /// What there is to report.
    func issue(in suite: SuiteName) -> DefaultsIssue? {
        switch self {
        case .kept, .done: return nil
        case .refused(_, _, isAwaited: true): return nil
        case .refused(let write, let problem, _):
            if write.isVain(after: problem) { return nil }
            if case .yielding = write.conflict, problem.code == .preconditionFailed { return nil }
            return DefaultsIssue(suite: suite, key: write.key?.text, attempt: .write, error: .refused(problem))
        case .stalled(let reason):
            return DefaultsIssue(suite: suite, key: nil, attempt: .write, error: .kept(reason))
        case .trouble(let path, let reason):
            return DefaultsIssue(
                suite: suite, key: nil, attempt: .write, error: .unusableFile(path: path, reason: reason))
        case .unfollowed(let error):
            return DefaultsIssue(suite: suite, key: nil, attempt: .read, error: DefaultsError(error))
        }
    }
}

extension ReplicaState {
    /// Takes in what a refusal tells of the settings whose conditions did not hold.
    mutating func learn(_ problem: Problem) {
        for failed in problem.failed {
            if case .setting(let current) = failed.current { learn(current, fromRefusal: true) }
        }
    }
}
