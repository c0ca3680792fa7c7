internal import SettingsModel

// What becomes of writes that are kept: the replica shows them until they end, and what was refused is an issue.

extension SuiteSession {
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
    /// True if a removal was done that leaves it open what is there.
    func leavesOpen(in session: SuiteSession) -> Bool {
        guard case .done(let write, let summary) = self else { return false }
        let isReset = write.action == .reset
        let removed = write.operations.filter { $0.action == .delete }.map(\.key)
        guard isReset || !removed.isEmpty else { return false }
        return session.leavesOpen(summary, removalOf: isReset ? nil : removed)
    }

    /// What there is to report.
    func issue(in suite: SuiteName) -> DefaultsIssue? {
        switch self {
        case .kept, .done: return nil
        case .refused(_, _, isAwaited: true): return nil
        case .refused(let write, let problem, _):
            if write.isVain(after: problem) { return nil }
            if case .yielding = write.conflict, problem.code == .preconditionFailed { return nil }
            return DefaultsIssue(
                suite: suite, key: write.key?.text, attempt: .write, error: .refused(write.explained(problem)))
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

extension SuiteWrite {
    /// The refusal of a transaction in words that say which of the keys that it read changed meanwhile.
    fileprivate func explained(_ problem: Problem) -> Problem {
        guard conflict == .refusal, problem.code == .preconditionFailed else { return problem }
        let keys = problem.failed.compactMap { failed in
            if case .setting(let current) = failed.current { current.key.text } else { nil }
        }
        guard !keys.isEmpty else { return problem }
        var problem = problem
        problem.detail =
            "what the transaction read of \(keys.joined(separator: ", ")) changed meanwhile, so nothing of it was done; "
            + "run it again"
        return problem
    }
}

extension ReplicaState {
    /// Takes in what a refusal tells of the settings whose conditions did not hold. Of secrets it tells nothing.
    mutating func learn(_ problem: Problem) {
        for failed in problem.failed {
            if case .setting(let current) = failed.current, !current.isConcealed { learn(current, fromRefusal: true) }
        }
    }
}

extension SuiteSession {
    /// Takes in the settings whose conditions did not hold; asks the server for secrets, of which a refusal tells nothing.
    func learn(_ problem: Problem) {
        change { $0.learn(problem) }
        for failed in problem.failed {
            if case .setting(let current) = failed.current, current.isConcealed { _ = try? ask(for: current.key) }
        }
    }
}
