internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Decides whether clients of a suite have applied a target revision: whether no commit that concerns the client is
/// after its applied revision and not after the target. A commit concerns a client if it matches the subject of the
/// client: the keys that the client watches or may read.
struct CommitRequirement {
    enum Outcome { case applied, failed, missing }

    let suite: SuiteName
    let target: Revision
    /// The last commit of the suite up to the target.
    private let lastCommit: Revision
    /// For each subject, the revision that a client with the subject must have applied.
    private var requiredRevisions: [WatchSubject: Revision] = [:]

    init(of target: Revision, in suite: Suite, on state: State) {
        (self.suite, self.target) = (suite.id, target)
        // If the history does not have the last commit up to the target, that commit is not after `oldestAvailable`.
        lastCommit =
            suite.revision <= target
            ? suite.revision
            : state.history.last(of: suite.id, upTo: target) ?? min(target, state.oldestAvailable(of: suite.id))
    }

    func outcome(of client: borrowing SuiteClient) -> Outcome {
        let required = client.subject.flatMap { requiredRevisions[$0.subject] } ?? lastCommit
        if client.hasApplied(required) { return .applied }
        return client.failure.map { $0.revision >= required } ?? false ? .failed : .missing
    }

    /// Returns the subject of a client if the outcome of the client depends on a search for commits that match it.
    func unsearchedSubject(of client: borrowing SuiteClient) -> WatchSubject? {
        guard let subject = client.subject?.subject, client.applied != nil, !client.hasApplied(lastCommit),
            requiredRevisions[subject] == nil
        else { return nil }
        return subject
    }

    /// Searches for the last commit up to the target that matches each subject. Stops at the limit of an event loop. The
    /// clients with the other subjects count as clients of the whole suite until the next call.
    mutating func search(_ subjects: Set<WatchSubject>, on state: State) {
        var meter = CostMeter(within: .loopLimit)
        for subject in subjects where !meter.isExceeded {
            // All commits after this revision, up to the target, do not match.
            var (searched, match) = (target, Revision?.none)
            state.history.forEachReversed(of: suite, before: target.advanced(by: 1) ?? target) { retained in
                if subject.matches(retained.commit) {
                    match = retained.revision
                } else {
                    searched = retained.revision.advanced(by: -1) ?? .zero
                    meter.add(.commitComparison + retained.commit.changes.count * .changeComparison)
                }
                return match == nil && !meter.isExceeded
            }
            if !meter.isExceeded { searched = min(searched, state.oldestAvailable(of: suite)) }
            requiredRevisions[subject] = min(lastCommit, match ?? searched)
        }
    }
}
