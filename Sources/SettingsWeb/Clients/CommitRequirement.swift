internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Decides whether clients of a suite have applied a target revision: whether they have applied every commit up to the
/// target that concerns them. A commit concerns a client if it matches the subject of the client: the keys that the
/// client watches and may read. Therefore a client may have applied the target although it has reported a lower
/// revision.
struct CommitRequirement {
    enum Outcome {
        case applied, failed
        /// The client has reported neither that it has applied the target nor that it has failed.
        case missing
    }

    /// The search for the last commit up to the target that matches a subject.
    private struct Search {
        /// The revision that a client with the subject must have applied; until the search is complete, an upper bound.
        var required: Revision
        var isComplete: Bool
    }

    let suite: SuiteName
    let target: Revision
    /// The revision of the last commit of the suite up to the target. If the history does not have the commit, a
    /// revision between the commit and the target.
    private let lastCommit: Revision
    private var searches: [WatchSubject: Search] = [:]

    init(of target: Revision, in suite: Suite, on state: State) {
        (self.suite, self.target) = (suite.id, target)
        // The history has all commits after `oldestAvailable`. So if it does not have the last commit up to the target,
        // this commit is not after `oldestAvailable`.
        lastCommit =
            suite.revision <= target
            ? suite.revision
            : state.history.last(of: suite.id, upTo: target) ?? min(target, state.oldestAvailable(of: suite.id))
    }

    func outcome(of client: borrowing SuiteClient) -> Outcome {
        let required = client.subject.flatMap { searches[$0.watchSubject]?.required } ?? lastCommit
        if client.hasApplied(required) { return .applied }
        return client.failure.map { $0.revision >= required } ?? false ? .failed : .missing
    }

    /// Returns the subject of a client if a search for commits that match the subject may change the outcome of the
    /// client.
    func unsearchedSubject(of client: borrowing SuiteClient) -> WatchSubject? {
        guard let subject = client.subject?.watchSubject, client.applied != nil, !client.hasApplied(lastCommit),
            !(searches[subject]?.isComplete ?? false)
        else { return nil }
        return subject
    }

    /// Searches for the last commit up to the target that matches each subject. Stops at the cost that an event loop
    /// may spend, and continues at the next call. Until a search is complete, the outcome of a client can be `missing`
    /// although the client lacks only commits that do not concern it.
    mutating func search(_ subjects: Set<WatchSubject>, on state: State) {
        var meter = CostMeter(within: .loopLimit)
        for subject in subjects where !meter.isExceeded {
            // No commit after this revision and up to the target matches.
            var searched = searches[subject]?.required ?? target
            var match: Revision?
            state.history.forEachReversed(of: suite, before: searched.advanced(by: 1) ?? target) { retained in
                if subject.matches(retained.commit) {
                    match = retained.revision
                } else {
                    searched = retained.revision.advanced(by: -1) ?? .zero
                    meter.add(.commitComparison + retained.commit.changes.count * .changeComparison)
                }
                return match == nil && !meter.isExceeded
            }
            let isComplete = match != nil || !meter.isExceeded
            // The history may lack commits up to this revision, and one of these commits may match.
            let oldest = min(state.oldestAvailable(of: suite), target)
            let required = match ?? (isComplete ? oldest : searched)
            searches[subject] = Search(required: min(lastCommit, max(required, oldest)), isComplete: isComplete)
        }
    }
}
