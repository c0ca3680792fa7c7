internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Decides whether clients of a suite have applied a target revision. A client has applied it if no commit that concerns
/// the client is after its applied revision and not after the target. A commit concerns a client if it matches the
/// subject of the client: the keys that the client watches or may read.
///
/// The last commit up to the target is the same for all clients without a subject. For each subject, the search for the
/// last commit that matches goes back from the target, no further than the clients need, and continues in later calls.
struct CommitRequirement {
    private struct Search {
        let subject: ClientSubject
        /// The last commit up to the target that matches; nil if it was not found yet.
        var match: Revision?
        /// All commits after this revision, up to the target, were compared.
        var floor: Revision
    }

    let suite: SuiteName
    let target: Revision
    /// The last commit of the suite up to the target.
    private let lastCommit: Revision
    /// The revision up to which the history may lack commits of the suite. It rises while a request waits.
    private var oldestAvailable: Revision
    private var searches: [ObjectIdentifier: Search] = [:]

    init(of target: Revision, in suite: Suite, on state: State) {
        (self.suite, self.target) = (suite.id, target)
        oldestAvailable = state.oldestAvailable(of: suite.id)
        // If the history does not have the last commit up to the target, that commit is not after `oldestAvailable`.
        lastCommit =
            suite.revision <= target
            ? suite.revision
            : state.history.last(of: suite.id, upTo: target) ?? min(target, oldestAvailable)
    }

    /// The result for a client: applied, failed to apply, neither, or nil if its subject was not searched far enough.
    func outcome(of client: borrowing SuiteClient) -> Outcome? {
        guard let required = requiredRevision(of: client) else { return nil }
        if client.hasApplied(required) { return .applied }
        return client.failure.map { $0.revision >= required } ?? false ? .failed : .missing
    }

    enum Outcome { case applied, failed, missing }

    /// The revision that the client must have applied; nil if it is not known yet.
    private func requiredRevision(of client: borrowing SuiteClient) -> Revision? {
        guard let applied = client.applied, let subject = client.subject, applied < lastCommit else {
            return lastCommit
        }
        guard let search = searches[ObjectIdentifier(subject)] else { return nil }
        if let match = search.match { return match }
        if applied >= search.floor { return applied }
        return search.floor <= oldestAvailable ? lastCommit : nil
    }

    /// Collects the subject of a client whose outcome is nil, with the lowest revision of the clients with the subject.
    func collectSearch(for client: borrowing SuiteClient, into pending: inout [ObjectIdentifier: PendingSearch]) {
        guard outcome(of: client) == nil, let subject = client.subject, let applied = client.applied else { return }
        let former = pending[ObjectIdentifier(subject)]
        pending[ObjectIdentifier(subject)] = PendingSearch(subject: subject, end: min(applied, former?.end ?? applied))
    }

    struct PendingSearch: Sendable {
        let subject: ClientSubject
        let end: Revision
    }

    /// Continues searches. Returns false if they would cost more than the limit; a later call then continues them.
    mutating func search(_ pending: [ObjectIdentifier: PendingSearch], on state: State, within limit: Cost) -> Bool {
        var meter = CostMeter(within: limit)
        oldestAvailable = max(oldestAvailable, state.oldestAvailable(of: suite))
        for (id, wanted) in pending {
            var search = searches[id] ?? Search(subject: wanted.subject, floor: target)
            let end = max(wanted.end, oldestAvailable)
            guard search.match == nil, let start = search.floor.advanced(by: 1) else { continue }
            state.history.forEachReversed(of: suite, before: start) { retained in
                guard retained.revision > end else { return false }
                meter.add(.commitComparison + retained.commit.changes.count * .changeComparison)
                if wanted.subject.subject.matches(retained.commit) {
                    search.match = retained.revision
                    return false
                }
                search.floor = retained.revision.advanced(by: -1) ?? .zero
                return !meter.isExceeded
            }
            if !meter.isExceeded, search.match == nil { search.floor = min(search.floor, end) }
            searches[id] = search
            if meter.isExceeded { return false }
        }
        return true
    }
}
