package import SettingsAPI
package import SettingsModel

/// The past of a state as far back as the history in memory reaches.
package struct RecentPast: Sendable {
    let state: State
    var history: History { state.history }

    package init(_ state: State) {
        self.state = state
    }
}

// Revisions of the past.
extension RecentPast {
    /// Returns the revision of a place in the past. Throws if it is still to come, or if what a suite was there is not kept.
    package func revision(at moment: Moment, of suite: SuiteName) throws(Problem) -> Revision {
        let place: Revision
        switch moment {
        case .revision(let revision): place = revision
        case .instant(let instant):
            let oldest = state.oldestAvailable(of: suite)
            if instant.milliseconds >= state.time.milliseconds {
                place = state.revision
            } else if let last = lastKnownRevision(notAfter: instant), last >= oldest {
                place = last
            } else if oldest == .zero || isChanged(suite, at: oldest, notAfter: instant) {
                // Every commit that touched the suite after this revision came later than the instant.
                place = oldest
            } else {
                throw historyGone(before: "what was stored at \(instant)", of: suite)
            }
        }
        try checkAvailable(place, of: suite)
        return place
    }

    /// The last commit not later than an instant, as far as that is known: it is kept, or the last that was dropped.
    package func lastKnownRevision(notAfter instant: Timestamp) -> Revision? {
        let last = history.last(notAfter: instant)?.revision
        let isOldestBefore = history.oldestAvailableTime.map { $0.milliseconds <= instant.milliseconds } ?? false
        return isOldestBefore ? max(last ?? .zero, history.oldestAvailable) : last
    }

    /// Throws if a revision is still to come, or if what a suite was after it is not kept.
    func checkAvailable(_ place: Revision, of suite: SuiteName) throws(Problem) {
        guard place <= state.revision else {
            throw Problem(.badRequest, "revision \(place) is still to come; the newest is \(state.revision)")
        }
        guard place >= state.oldestAvailable(of: suite) else {
            throw historyGone(before: "revision \(place)", of: suite)
        }
    }

    private func historyGone(before what: String, of suite: SuiteName) -> Problem {
        Problem(historyGone: what, oldest: state.oldestAvailable(of: suite))
    }
}

extension Problem {
    /// The problem of a place that is further back than the history.
    package init(historyGone what: String, oldest: Revision) {
        var problem = Problem(.historyGone, "\(what) is no longer kept; the oldest that is kept is \(oldest)")
        problem.oldest = oldest
        self = problem
    }
}

/// A question about the commits of a suite.
package struct HistoryQuestion: Sendable {
    package let suite: SuiteName
    package let filter: KeyFilter
    /// The caller that made the commits; nil for any.
    package let by: String?
    /// The commits before this one; nil for the newest.
    package let before: Revision?
    package let limit: Int
    /// The grants of a reader that may not see everything.
    package let reader: Grants?
    /// The most memory of commits that go into one page. A page has at least one commit.
    package let pageBytes: Int

    /// The most memory of commits that go into one page, if there is memory for it.
    package static let defaultPageBytes = 8 << 20

    package init(
        suite: SuiteName, filter: KeyFilter, by: String?, before: Revision?, limit: Int, reader: Grants?,
        pageBytes: Int = defaultPageBytes
    ) {
        self.suite = suite
        self.filter = filter
        self.by = by
        self.before = before
        self.limit = limit
        self.reader = reader
        self.pageBytes = pageBytes
    }
}

extension HistoryQuestion {
    /// True if the page may omit commits of the suite.
    package var isFiltered: Bool { !filter.isEverything || by != nil || reader != nil }

    /// The revision before which the commits are.
    package func endRevision(in state: State) -> Revision {
        before ?? state.revision.advanced(by: 1) ?? state.revision
    }
}

/// A page of commits, which are added from the newest on.
package struct HistoryPage {
    private let question: HistoryQuestion
    private var commits: [HistoryCommit] = []
    private var size = 0
    /// The commit before which the next page begins; nil if there is none.
    package private(set) var next: Revision?

    package init(_ question: HistoryQuestion) {
        self.question = question
    }

    /// Adds a commit if the question is about it. Returns false, and adds nothing, if the page is full.
    package mutating func add(_ kept: KeptCommit, on state: State) -> Bool {
        guard let commit = RecentPast(state).commit(kept.commit, for: question) else { return true }
        size += kept.size
        guard commits.count < question.limit, commits.isEmpty || size <= question.pageBytes else {
            next = commits.last?.revision
            return false
        }
        commits.append(commit)
        return true
    }

    /// Ends the page before a commit that was looked at last.
    package mutating func end(before revision: Revision) {
        next = next ?? revision
    }

    package func result(oldest: Revision) -> SuiteHistory {
        SuiteHistory(suite: question.suite, commits: commits, next: next, oldest: oldest)
    }
}

extension RecentPast {
    /// A page of the commits that touched a suite, the newest first. Throws if nothing is known of such a suite.
    package func history(_ question: HistoryQuestion) throws(Problem) -> SuiteHistory {
        let suite = question.suite
        guard state.hasSuite(suite) || history.hasCommits(of: suite) else {
            throw state.unknownSuite(suite, for: question.reader)
        }
        var page = HistoryPage(question)
        history.forEachReversed(of: suite, before: question.endRevision(in: state)) { page.add($0, on: state) }
        return page.result(oldest: state.oldestAvailable(of: suite))
    }

    /// The cost of answering the question from the commits in memory.
    package func renderingCost(of question: HistoryQuestion, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        // A filter may select any of the commits, so only the size of a page bounds the estimate.
        var remainingCommits = question.isFiltered ? .max : question.limit
        var bytes = 0
        history.forEachReversed(of: question.suite, before: question.endRevision(in: state)) { kept in
            guard bytes == 0 || bytes + kept.size <= question.pageBytes else { return false }
            bytes += kept.size
            // Of the values before and after a commit, both in memory, the page shows the values after it.
            meter.add(.rendering(commitBytes: kept.size / 2))
            remainingCommits -= 1
            return remainingCommits > 0 && !meter.isExceeded
        }
        return meter.cost
    }

    fileprivate func commit(_ commit: Commit, for question: HistoryQuestion) -> HistoryCommit? {
        if let by = question.by, commit.origin?.by?.hasSameBytes(as: by) != true { return nil }
        let ofSuite = commit.suiteChanges.filter { $0.suite == question.suite }
        let hasSchema = ofSuite.contains { $0.kind != .created && $0.kind != .dropped }
        let admitted = commit.changes.filter { $0.suite == question.suite && question.filter.admits($0.key) }
        let changes = state.shown(admitted, to: question.reader)
        // A commit without changes was kept for its request key, or is about the suite as a whole.
        let isOfSuite = ofSuite.contains { $0.kind != .created || admitted.isEmpty }
        guard !changes.isEmpty || question.filter.isEverything && isOfSuite else { return nil }
        return HistoryCommit(
            revision: commit.revision, time: commit.time, origin: commit.origin, hasSchema: hasSchema,
            isDrop: ofSuite.contains { $0.kind == .dropped }, changes: changes)
    }
}

extension RecentPast {
    /// The net changes of a suite between two places, of which the first may be the later one.
    package func difference(
        of name: SuiteName, from: Moment, to: Moment, for reader: Grants? = nil
    ) throws(Problem) -> SuiteDifference {
        let (start, end) = (try revision(at: from, of: name), try revision(at: to, of: name))
        guard state.hasSuite(name) || history.hasCommits(of: name) else {
            throw state.unknownSuite(name, for: reader)
        }
        let (before, after) = (try suite(name, at: start), try suite(name, at: end))
        var keys: Set<KeyName> = []
        history.forEach(of: name, after: min(start, end)) { kept in
            guard kept.revision <= max(start, end) else { return false }
            for change in kept.commit.changes where change.suite == name { keys.insert(change.key) }
            return true
        }
        return difference(of: name, from: before, to: after, at: end, keys: keys, for: reader)
    }

    /// The net changes of a suite between two states of it.
    ///
    /// - Parameters:
    ///   - end: the revision of the second state.
    ///   - keys: the keys that may differ; nil for all keys.
    package func difference(
        of name: SuiteName, from before: Suite?, to after: Suite?, at end: Revision, keys: Set<KeyName>?,
        for reader: Grants?
    ) -> SuiteDifference {
        let none = Suite(name, revision: .zero, unknownKeyRevision: .zero)
        let (before, after) = (before ?? none, after ?? none)
        let keys = keys ?? Set(before.keysWithRecords + after.keysWithRecords)
        let changes = keys.ordered(by: <).compactMap { Change(of: $0, from: before, to: after, for: reader) }
        return SuiteDifference(
            suite: name, cursor: Cursor(epoch: state.epoch, revision: end), schemaRevision: after.schemaRevision,
            isSchemaChanged: before.schema?.schema.document != after.schema?.schema.document,
            changes: state.shown(changes, to: reader))
    }
}

extension Suite {
    /// The keys of which there is a record, also of those without a value.
    fileprivate var keysWithRecords: [KeyName] {
        (records.elements + removed.records).map(\.key)
    }
}

extension Change {
    /// The change of a key from one past of its suite to another; nil if both show the same.
    fileprivate init?(of key: KeyName, from before: Suite, to after: Suite, for reader: Grants?) {
        let (old, new) = (before.record(key), after.record(key))
        let (oldValue, value) = (before.effectiveValue(of: old), after.effectiveValue(of: new))
        // Whether two values of a hidden secret are equal is hidden, too.
        let isHidden = before.isHidden(old, from: reader) || after.isHidden(new, from: reader)
        let differs =
            isHidden
            ? old.revision != new.revision
            : oldValue != value || old.standing != new.standing || old.stored != new.stored
        guard differs else { return nil }
        self.init(
            suite: after.id, key: key, old: oldValue, new: value, oldSource: old.standing.source,
            source: new.standing.source, revision: new.revision, modified: new.modified,
            isSecret: before.isSecret(old) || after.isSecret(new))
        origin = new.origin
    }
}
