package import SettingsAPI
internal import SettingsModel

/// A state that takes writes one after the other, ahead of what is durable.
///
/// The writer of the daemon owns one, and so does a suite in memory. Without I/O and without locks: the owner makes the
/// commits durable, publishes ``state``, or goes back with ``rollBack(to:)``.
package struct StagedState: Sendable {
    /// The newest state.
    package private(set) var state: State
    /// The revision of ``state``, without a copy of that.
    package var revision: Revision { state.revision }
    /// The cursor of ``state``, without a copy of that.
    package var cursor: Cursor { state.cursor }
    /// The reason why a commit did not follow from the state that it was decided on: a defect, after which the state has to
    /// be recalled.
    package private(set) var mismatch: CommitMismatch?
    package var createsSuites: Bool
    package var commitKeys: Int
    package var quotas: Quotas
    /// The last revision that was given out, used or not.
    private var lastIssuedRevision: Revision
    /// The commits in the history that have a request key.
    private var commitsByRequestKey: [CallerRequestKey: KeptCommit] = [:]
    /// The request keys that changed with commits that are not confirmed, with what they led to before.
    private var changed: [(key: CallerRequestKey, before: KeptCommit?, revision: Revision)] = []

    /// A request key of one caller. That of another caller is another key.
    package struct CallerRequestKey: Hashable, Sendable {
        let key: RequestKey
        let by: String?

        fileprivate init?(_ key: RequestKey?, of origin: CommitOrigin?) {
            guard let key else { return nil }
            self.key = key
            by = origin?.by
        }

        fileprivate init?(_ kept: KeptCommit) {
            self.init(kept.commit.requestKey, of: kept.commit.origin)
        }

        /// Nil for a request that may not be repeated, or that writes nothing.
        package init?(_ request: WriteRequest) {
            guard !request.isDryRun else { return nil }
            self.init(request.requestKey, of: request.origin)
        }
    }

    /// - Parameters:
    ///   - createsSuites: true if a write may create a suite by storing something in it.
    ///   - commitKeys: the most keys that one write may change.
    package init(_ state: State, createsSuites: Bool = true, commitKeys: Int = .max, quotas: Quotas = .none) {
        self.state = state
        self.createsSuites = createsSuites
        self.commitKeys = commitKeys
        self.quotas = quotas
        lastIssuedRevision = state.revision
        indexRequests()
    }

    /// Decides a write and applies its commit. A request key that was used before gets its first answer again.
    ///
    /// - Returns: the answer, and the commit if one was made.
    package mutating func write(
        _ request: WriteRequest, at now: Timestamp
    ) throws(Problem) -> (answer: WriteAnswer, commit: KeptCommit?) {
        if let answer = try replay(request) { return (answer, nil) }
        guard let revision = lastIssuedRevision.advanced(by: 1) else {
            throw Problem(.storageFailed, "there are no revisions left")
        }
        var decision = try state.decide(
            request, revision: revision, time: time(now), createsSuites: createsSuites, commitKeys: commitKeys,
            quotas: quotas)
        guard let commit = decision.commit.take() else { return (decision.answer, nil) }
        let kept = KeptCommit(commit)
        lastIssuedRevision = revision
        do {
            try add(kept, schema: decision.schema)
        } catch {
            mismatch = error
        }
        return (decision.answer, kept)
    }

    /// Returns the first answer again of a request key that was used before; nil if this one was not.
    package func replay(_ request: WriteRequest) throws(Problem) -> WriteAnswer? {
        guard let key = CallerRequestKey(request), let kept = commitsByRequestKey[key] else { return nil }
        return try request.replay(kept.commit, on: state)
    }

    /// Continues from a state to which commits of others were applied. Every commit of this state must be confirmed.
    package mutating func follow(_ followed: FollowedState) {
        changed = []
        lastIssuedRevision = max(lastIssuedRevision, followed.state.revision)
        state = followed.state
        if followed.wasReplaced {
            commitsByRequestKey = [:]
            return indexRequests()
        }
        for commit in followed.commits {
            if let key = CallerRequestKey(commit) { commitsByRequestKey[key] = commit }
        }
        for commit in followed.evicted {
            guard let key = CallerRequestKey(commit), commitsByRequestKey[key]?.revision == commit.revision else { continue }
            commitsByRequestKey[key] = nil
        }
    }

    /// Takes note that the commits up to a revision are durable: ``rollBack(to:)`` goes back no further.
    package mutating func confirm(upTo revision: Revision) {
        guard !changed.isEmpty else { return }
        changed.removeFirst(changed.firstIndex { $0.revision > revision } ?? changed.count)
    }

    private mutating func add(_ commit: KeptCommit, schema: Schema?) throws(CommitMismatch) {
        // Before the commit drops others: it may drop itself, if it is larger than all of the history.
        if let key = CallerRequestKey(commit) { set(key, commit, at: commit.revision) }
        for dropped in try state.apply(commit, schema: schema) {
            guard let key = CallerRequestKey(dropped), commitsByRequestKey[key]?.revision == dropped.revision else { continue }
            set(key, nil, at: commit.revision)
        }
    }

    private mutating func set(_ key: CallerRequestKey, _ commit: KeptCommit?, at revision: Revision) {
        changed.append((key, commitsByRequestKey[key], revision))
        commitsByRequestKey[key] = commit
    }

    /// Goes back to a state, of which all is durable. The revisions given out since are never used again.
    package mutating func recall(to state: State) {
        confirm(upTo: state.revision)
        self.state = state
        mismatch = nil
        for (key, before, _) in changed.reversed() { commitsByRequestKey[key] = before }
        changed = []
    }

    private mutating func indexRequests() {
        for commit in state.history.all {
            if let key = CallerRequestKey(commit) { commitsByRequestKey[key] = commit }
        }
    }

    /// The step back of a clock, in milliseconds, up to which times wait for it.
    private static let setBack: Int64 = 60_000

    /// The time of the next commit. A small correction of the clock does not take it back. After a larger one the last
    /// commit's time was wrong, and times follow the clock again.
    private func time(_ now: Timestamp) -> Timestamp {
        let isBehind = now < state.time && state.time.milliseconds - now.milliseconds <= Self.setBack
        return isBehind ? state.time : now
    }
}
