package import SettingsAPI
internal import SettingsModel

/// The state (all suites of settings, and the history in memory) with the commits that are decided but not yet durable.
/// To decide a write is to check it against this state, and to compute its commit or its refusal.
///
/// The decide stage of the daemon owns a staged state. A Swift client that keeps suites in memory owns another staged
/// state. The owner calls ``confirm(upTo:)`` after the commits became durable, or discards the commits with
/// ``rollBack(to:)``.
package struct StagedState: Sendable {
    /// The state after the last decided write.
    package private(set) var state: State
    /// The revision (the number of the last commit) and the cursor (the name of the history, and the revision) of
    /// ``state``. Code that reads them here does not copy the state.
    package var revision: Revision { state.revision }
    package var cursor: Cursor { state.cursor }
    /// The reason for which a decided commit could not be applied, which is a defect of the program; nil if every
    /// commit was applied. If it is not nil, the owner must call ``rollBack(to:)``.
    package private(set) var mismatch: CommitMismatch?
    /// True if a write that stores a value may create its suite.
    package var createsSuites: Bool
    /// The maximum number of keys that one write may change or check.
    package var commitKeys: Int
    package var quotas: Quotas
    /// The highest revision of any commit so far, including commits that were rolled back.
    private var lastIssuedRevision: Revision
    /// The commits of the history in memory that have a request key, which is the `Idempotency-Key` of a write. The
    /// daemon answers a repeated request from the commit of the first request.
    private var commitsByKey: [CallerRequestKey: RetainedCommit] = [:]
    /// The changes that unconfirmed commits made to ``commitsByKey``, oldest first: the key, the entry before the
    /// change (nil if there was none), and the revision of the commit.
    private var unconfirmedChanges: [(key: CallerRequestKey, before: RetainedCommit?, revision: Revision)] = []

    /// The request key of a write, together with its caller. Two callers may use the same text as request key.
    package struct CallerRequestKey: Hashable, Sendable {
        let key: RequestKey
        /// The name of the caller; nil if the caller has no name, for example over TCP without access control.
        let caller: String?

        fileprivate init?(_ key: RequestKey?, of origin: CommitOrigin?) {
            guard let key else { return nil }
            self.key = key
            caller = origin?.by
        }

        fileprivate init?(_ retained: RetainedCommit) {
            self.init(retained.commit.requestKey, of: retained.commit.origin)
        }

        /// Makes the key of a request; nil for a request without an `Idempotency-Key`, and for a dry run.
        package init?(_ request: WriteRequest) {
            guard !request.isDryRun else { return nil }
            self.init(request.requestKey, of: request.origin)
        }
    }

    package init(_ state: State, createsSuites: Bool = true, commitKeys: Int = .max, quotas: Quotas = .none) {
        self.state = state
        self.createsSuites = createsSuites
        self.commitKeys = commitKeys
        self.quotas = quotas
        lastIssuedRevision = state.revision
        indexRequestKeys()
    }

    /// Decides a write and applies its commit. A repeated request gets the answer to the first request.
    ///
    /// - Returns: the answer, and the commit. The commit is nil for a repeat, for a dry run, and for a write without
    ///   a request key that changes nothing.
    package mutating func write(
        _ request: WriteRequest, at now: Timestamp
    ) throws(Problem) -> (answer: WriteAnswer, commit: RetainedCommit?) {
        if let answer = try replay(request) { return (answer, nil) }
        guard let revision = lastIssuedRevision.advanced(by: 1) else {
            throw Problem(.storageFailed, "no revision numbers are left")
        }
        var decision = try state.decide(
            request, revision: revision, time: commitTime(at: now), createsSuites: createsSuites,
            commitKeys: commitKeys, quotas: quotas)
        guard let commit = decision.commit.take() else { return (decision.answer, nil) }
        let retained = RetainedCommit(commit)
        lastIssuedRevision = revision
        do {
            try applyCommit(retained, schema: decision.schema)
        } catch {
            mismatch = error
        }
        return (decision.answer, retained)
    }

    /// Returns the answer to the first request with the same request key, if any. Throws if the two requests differ.
    package func replay(_ request: WriteRequest) throws(Problem) -> WriteAnswer? {
        guard let key = CallerRequestKey(request), let first = commitsByKey[key] else { return nil }
        return try request.replay(first.commit, on: state)
    }

    /// Continues with a state that also has commits of other daemons. All own commits must be durable or rolled back.
    package mutating func follow(_ followed: FollowedState) {
        unconfirmedChanges = []
        lastIssuedRevision = max(lastIssuedRevision, followed.state.revision)
        state = followed.state
        if followed.wasReplaced {
            commitsByKey = [:]
            return indexRequestKeys()
        }
        for commit in followed.commits {
            if let key = CallerRequestKey(commit) { commitsByKey[key] = commit }
        }
        for commit in followed.evicted {
            guard let key = CallerRequestKey(commit), commitsByKey[key]?.revision == commit.revision else { continue }
            commitsByKey[key] = nil
        }
    }

    /// Records that the commits up to a revision are durable. Afterwards, ``rollBack(to:)`` must not be called with an
    /// older state.
    package mutating func confirm(upTo revision: Revision) {
        guard !unconfirmedChanges.isEmpty else { return }
        let confirmedCount = unconfirmedChanges.firstIndex { $0.revision > revision } ?? unconfirmedChanges.count
        unconfirmedChanges.removeFirst(confirmedCount)
    }

    private mutating func applyCommit(_ commit: RetainedCommit, schema: Schema?) throws(CommitMismatch) {
        // The entry must be set before the loop. If the commit is larger than the history may be, the history evicts
        // (removes) this commit, and the loop removes the entry.
        if let key = CallerRequestKey(commit) { setEntry(key, to: commit, at: commit.revision) }
        for evicted in try state.apply(commit, schema: schema) {
            guard let key = CallerRequestKey(evicted), commitsByKey[key]?.revision == evicted.revision else { continue }
            setEntry(key, to: nil, at: commit.revision)
        }
    }

    /// Changes ``commitsByKey``. Records the change, so that ``rollBack(to:)`` reverts the change if it discards the
    /// commit `revision`.
    private mutating func setEntry(_ key: CallerRequestKey, to commit: RetainedCommit?, at revision: Revision) {
        unconfirmedChanges.append((key, commitsByKey[key], revision))
        commitsByKey[key] = commit
    }

    /// Discards the commits after a durable state. Never uses their revisions again, because a failed flush may have
    /// stored the commits.
    package mutating func rollBack(to state: State) {
        confirm(upTo: state.revision)
        self.state = state
        mismatch = nil
        for (key, before, _) in unconfirmedChanges.reversed() { commitsByKey[key] = before }
        unconfirmedChanges = []
    }

    private mutating func indexRequestKeys() {
        for commit in state.history.all {
            if let key = CallerRequestKey(commit) { commitsByKey[key] = commit }
        }
    }

    /// The largest backward step of the clock, in milliseconds, that counts as a small correction of the clock.
    private static let maximumClockCorrection: Int64 = 60_000

    /// Returns the time of the next commit: the time of the clock. If the clock was set back a little, returns the time
    /// of the last commit, so that the times do not decrease. If the clock was set back further, the time of the last
    /// commit was probably wrong, so this method returns the time of the clock.
    private func commitTime(at now: Timestamp) -> Timestamp {
        let isBehind = now < state.time && state.time.milliseconds - now.milliseconds <= Self.maximumClockCorrection
        return isBehind ? state.time : now
    }
}
