package import SettingsAPI
package import SettingsModel

/// Reads the history in memory and the earlier states of suites (named sets of settings), as far back as the history
/// reaches.
package struct RecentPast: Sendable {
    let state: State
    var history: History { state.history }

    package init(_ state: State) { self.state = state }
}

// Methods that convert moments to revisions.
extension RecentPast {
    /// Returns the revision of a moment, which is a revision (the number of a commit) or an instant. Throws if the
    /// revision does not exist yet, or if the history lacks commits that are needed to show the suite at that moment.
    package func revision(at moment: Moment, of suite: SuiteName) throws(Problem) -> Revision {
        let found: Revision
        switch moment {
        case .revision(let revision): found = revision
        case .instant(let instant):
            let oldest = state.oldestAvailable(of: suite)
            if instant.milliseconds >= state.time.milliseconds {
                found = state.revision
            } else if let last = lastKnownRevision(notAfter: instant), last >= oldest {
                found = last
            } else if oldest == .zero || isUnchanged(suite, after: instant, upTo: oldest) {
                // At `oldest`, the suite is as it was at the instant, because no commit after the instant and up to
                // `oldest` affects the suite.
                found = oldest
            } else {
                throw historyGone("the state at \(instant)", of: suite)
            }
        }
        try checkAvailable(found, of: suite)
        return found
    }

    /// The highest revision of the candidates whose time is not later than an instant; nil if there is none. The
    /// candidates are the commits in memory and, if its time is known, the newest commit that was evicted (removed from
    /// memory).
    package func lastKnownRevision(notAfter instant: Timestamp) -> Revision? {
        let last = history.last(notAfter: instant)?.revision
        let isEvictedCandidate = history.oldestAvailableTime.map { $0.milliseconds <= instant.milliseconds } ?? false
        return isEvictedCandidate ? max(last ?? .zero, history.oldestAvailable) : last
    }

    /// Throws if a revision does not exist yet, or if the history lacks commits that are needed to show the suite at
    /// that revision.
    func checkAvailable(_ revision: Revision, of suite: SuiteName) throws(Problem) {
        guard revision <= state.revision else {
            throw Problem(
                .badRequest, "revision \(revision) does not exist yet; the newest revision is \(state.revision)")
        }
        guard revision >= state.oldestAvailable(of: suite) else {
            throw historyGone("revision \(revision)", of: suite)
        }
    }

    /// The error for a read of the suite at a moment that the history no longer covers.
    ///
    /// - Parameter missing: the beginning of the message, for example "revision 3".
    private func historyGone(_ missing: String, of suite: SuiteName) -> Problem {
        Problem(historyGone: missing, oldest: state.oldestAvailable(of: suite))
    }
}

extension Problem {
    /// The error for a request that needs commits that were evicted from the history. `missing` begins the message, for
    /// example "revision 3". `oldest` is the oldest revision that the request could read.
    package init(historyGone missing: String, oldest: Revision) {
        var problem = Problem(
            .historyGone, "\(missing) is no longer in the history; the oldest available revision is \(oldest)")
        problem.oldest = oldest
        self = problem
    }
}

/// A query for one page of the commits that affect a suite, the newest first.
package struct HistoryQuery: Sendable {
    package let suite: SuiteName
    /// The page has only commits that change at least one key that this filter admits. If the filter admits all keys,
    /// the page also has commits that change only the suite as a whole or its schema.
    package let filter: KeyFilter
    /// The page has only commits of the caller with this name; nil for all callers.
    package let by: String?
    /// The page begins with the newest commit before this revision; nil to begin with the newest commit.
    package let before: Revision?
    /// The maximum number of commits on the page.
    package let limit: Int
    /// The grants (rights) of the caller that reads the history; nil if the caller may read everything.
    package let restrictedGrants: Grants?
    /// The maximum size in memory of the commits of a page, in bytes. The first commit may exceed the maximum.
    package let pageBytes: Int

    /// The value of ``pageBytes`` unless the memory budget of the daemon requires a smaller value.
    package static let defaultPageBytes = 8 << 20

    package init(
        suite: SuiteName, filter: KeyFilter, by: String?, before: Revision?, limit: Int, restrictedGrants: Grants?,
        pageBytes: Int = defaultPageBytes
    ) {
        self.suite = suite
        self.filter = filter
        self.by = by
        self.before = before
        self.limit = limit
        self.restrictedGrants = restrictedGrants
        self.pageBytes = pageBytes
    }
}

extension HistoryQuery {
    /// True if the page may omit some of the commits that affect (change) the suite.
    package var isFiltered: Bool { !filter.isEverything || by != nil || restrictedGrants != nil }

    /// A revision after all commits of the page: the page begins with the newest commit before this revision.
    package func endRevision(in state: State) -> Revision { before ?? state.revision.advanced(by: 1) ?? state.revision }
}

/// A page of the history of a suite. The search adds the commits that affect the suite, the newest first.
package struct HistoryPage {
    private let historyQuery: HistoryQuery
    private var commits: [HistoryCommit] = []
    private var size = 0
    /// The value of `before` in the query for the next page; nil if this is the last page.
    package private(set) var next: Revision?

    package init(_ historyQuery: HistoryQuery) { self.historyQuery = historyQuery }

    /// Adds a commit if it matches the query. Returns false, and does not add the commit, if the page is full. The
    /// schemas in `state` say which values are secret.
    package mutating func add(_ retained: RetainedCommit, withSecretsOf state: State) -> Bool {
        guard let commit = RecentPast(state).commit(retained.commit, for: historyQuery) else { return true }
        size += retained.size
        guard commits.count < historyQuery.limit, commits.isEmpty || size <= historyQuery.pageBytes else {
            next = commits.last?.revision
            return false
        }
        commits.append(commit)
        return true
    }

    /// Ends the page early, because the search stops. The next page begins with the newest commit before `revision`.
    /// Does nothing if the page already has ``next``, because it is full.
    package mutating func end(before revision: Revision) { next = next ?? revision }

    /// The page as a response. `oldest` is the oldest revision at which the suite can still be read.
    package func result(oldest: Revision) -> SuiteHistory {
        SuiteHistory(suite: historyQuery.suite, commits: commits, next: next, oldest: oldest)
    }
}

extension RecentPast {
    /// A page of the commits that affect a suite, the newest first. Throws if neither the state nor the history has the
    /// suite.
    package func history(_ historyQuery: HistoryQuery) throws(Problem) -> SuiteHistory {
        let suite = historyQuery.suite
        guard state.hasSuite(suite) || history.hasCommits(of: suite) else {
            throw state.unknownSuite(suite, for: historyQuery.restrictedGrants)
        }
        var page = HistoryPage(historyQuery)
        history.forEachReversed(of: suite, before: historyQuery.endRevision(in: state)) {
            page.add($0, withSecretsOf: state)
        }
        return page.result(oldest: state.oldestAvailable(of: suite))
    }

    /// The estimated cost of rendering the page from the commits in memory.
    package func renderingCost(of historyQuery: HistoryQuery, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        // A filter may skip many commits, so `historyQuery.limit` then does not bound the number of visited commits.
        var remainingCommits = historyQuery.isFiltered ? .max : historyQuery.limit
        var bytes = 0
        history.forEachReversed(of: historyQuery.suite, before: historyQuery.endRevision(in: state)) { retained in
            guard bytes == 0 || bytes + retained.size <= historyQuery.pageBytes else { return false }
            bytes += retained.size
            meter.add(.rendering(commitBytes: retained.size))
            remainingCommits -= 1
            return remainingCommits > 0 && !meter.isExceeded
        }
        return meter.cost
    }

    /// The part of a commit that the page shows; nil if the commit does not match the query.
    fileprivate func commit(_ commit: Commit, for historyQuery: HistoryQuery) -> HistoryCommit? {
        if let by = historyQuery.by, commit.origin?.by?.hasSameBytes(as: by) != true { return nil }
        let suiteChanges = commit.suiteChanges.filter { $0.suite == historyQuery.suite }
        let changesSchema = suiteChanges.contains { $0.kind != .created && $0.kind != .dropped }
        let admitted = commit.changes.filter { $0.suite == historyQuery.suite && historyQuery.filter.admits($0.key) }
        let changes = state.shown(admitted, to: historyQuery.restrictedGrants)
        // A write of the first key of a suite also creates the suite. The page shows this creation only together with
        // the change of a key, and shows the creation of an empty suite alone.
        let changesSuite = suiteChanges.contains { $0.kind != .created || admitted.isEmpty }
        guard !changes.isEmpty || historyQuery.filter.isEverything && changesSuite else { return nil }
        var entry = HistoryCommit(
            revision: commit.revision, time: commit.time, origin: commit.origin, hasSchema: changesSchema,
            isDrop: suiteChanges.contains { $0.kind == .dropped }, changes: changes)
        for event in commit.pending where event.action.concerns(historyQuery.suite) {
            entry.pending.append(PendingHistoryEvent(event))
            // `kept` has the settings that a revert at a deadline did not restore.
            entry.kept += (event.end?.kept ?? []).filter {
                $0.suite == historyQuery.suite && $0.isShown(to: historyQuery.restrictedGrants)
            }
        }
        return entry
    }
}

extension RecentPast {
    /// The differences of a suite between two moments. The first moment may be after the second moment.
    package func difference(
        of name: SuiteName, from: Moment, to: Moment, for restrictedGrants: Grants? = nil
    ) throws(Problem) -> SuiteDifference {
        let (start, end) = (try revision(at: from, of: name), try revision(at: to, of: name))
        guard state.hasSuite(name) || history.hasCommits(of: name) else {
            throw state.unknownSuite(name, for: restrictedGrants)
        }
        let (before, after) = (try suite(name, at: start), try suite(name, at: end))
        var keys: Set<KeyName> = []
        history.forEach(of: name, after: min(start, end)) { retained in
            guard retained.revision <= max(start, end) else { return false }
            for change in retained.commit.changes where change.suite == name { keys.insert(change.key) }
            return true
        }
        return difference(of: name, from: before, to: after, at: end, keys: keys, for: restrictedGrants)
    }

    /// The differences between two versions of a suite (nil: the suite did not exist). `end` is the revision of the
    /// second version. `keys` is a set with all keys that may differ; nil to compare all keys.
    package func difference(
        of name: SuiteName, from before: Suite?, to after: Suite?, at end: Revision, keys: Set<KeyName>?,
        for restrictedGrants: Grants?
    ) -> SuiteDifference {
        // A suite that did not exist has the same settings as an empty suite.
        let emptySuite = Suite(name, revision: .zero, unknownKeyRevision: .zero)
        let (before, after) = (before ?? emptySuite, after ?? emptySuite)
        let keys = keys ?? Set(before.keysWithRecords + after.keysWithRecords)
        let changes = keys.ordered(by: <).compactMap { Change(of: $0, from: before, to: after, for: restrictedGrants) }
        return SuiteDifference(
            suite: name, cursor: Cursor(epoch: state.epoch, revision: end), schemaRevision: after.schemaRevision,
            isSchemaChanged: before.schema?.schema.document != after.schema?.schema.document,
            changes: state.shown(changes, to: restrictedGrants))
    }
}

extension Suite {
    /// The keys with a record or a tombstone (the record of a removed key).
    fileprivate var keysWithRecords: [KeyName] { (records.elements + removed.records).map(\.key) }
}

extension Change {
    /// The change of a key from one version of its suite to another; nil if both versions show the same setting.
    fileprivate init?(of key: KeyName, from before: Suite, to after: Suite, for restrictedGrants: Grants?) {
        let (old, new) = (before.record(key), after.record(key))
        let (oldValue, value) = (before.effectiveValue(of: old), after.effectiveValue(of: new))
        // A caller must not learn whether two values of a secret are equal, so this method compares their revisions.
        let isHidden = before.isHidden(old, from: restrictedGrants) || after.isHidden(new, from: restrictedGrants)
        let differs =
            isHidden
            ? old.revision != new.revision
            : oldValue != value || old.valueSource != new.valueSource || old.stored != new.stored
        guard differs else { return nil }
        self.init(
            suite: after.id, key: key, old: oldValue, new: value, oldSource: old.valueSource.source,
            source: new.valueSource.source, revision: new.revision, modified: new.modified,
            isSecret: before.isSecret(old) || after.isSecret(new))
        origin = new.origin
    }
}
