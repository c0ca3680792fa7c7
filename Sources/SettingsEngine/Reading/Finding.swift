package import SettingsAPI
internal import SettingsModel

/// The result of ``WatchReader/find(_:since:within:)``: the data that a watcher does not have yet. A watcher is a
/// client that waits for changes of its subject: the suites (named sets of settings) and keys in a ``WatchSubject``.
package enum Finding: Sendable {
    /// The watcher needs the current state of its subject, but the subject is a single suite that does not exist.
    case missingSuite
    /// The watcher needs the current state of its subject. `isReset` is false if the watcher has no state yet.
    /// `isReset` is true if the watcher must discard its state, because the resume point belongs to another epoch (name
    /// of a history), or because the history in memory lacks commits after the resume point. The resume point is the
    /// revision (commit number), or the cursor (epoch and revision), of the state that the watcher has.
    case state(isReset: Bool)
    /// The commits that match the subject, oldest first; never empty.
    case commits([RetainedCommit])
    /// No commit after the resume point matches the subject.
    case nothing
    /// The search stopped early, because comparing the commits with the subject costs more than the limit.
    case tooCostly
}

/// Finds the data that watchers receive from one state (all suites and the history).
package struct WatchReader: Sendable {
    /// The state for one caller. If the caller may not read everything, ``State/epoch`` ends in the digest of the
    /// caller's grants (rights; see ``State/withGrantsDigest(of:)``). ``State/baseCursor`` has the epoch without the
    /// digest.
    package let state: State

    package init(_ state: State) { self.state = state }
}

// Methods that search for commits.
extension WatchReader {
    /// Finds the data that a watcher does not have yet.
    ///
    /// - Parameters:
    ///   - since: the resume point; nil if the watcher has no state.
    ///   - limit: the maximum cost of comparing commits with the subject.
    package func find(_ subject: WatchSubject, since: ResumePoint?, within limit: Cost = .unlimited) -> Finding {
        guard let since, hasHistory(for: subject, since: since) else {
            return hasState(for: subject) ? .state(isReset: since != nil) : .missingSuite
        }
        guard let commits = commits(for: subject, after: since.revision, within: limit) else { return .tooCostly }
        return commits.isEmpty ? .nothing : .commits(commits)
    }

    /// True if a caller that may not read everything resumes from a cursor without a digest of grants, and no commit
    /// after the cursor matches the subject. (A caller that may read everything got this cursor.) The cursor has
    /// another epoch than the cursors for this caller, so ``find(_:since:within:)`` returns the state although nothing
    /// changed.
    package func isUpToDate(_ subject: WatchSubject, since: ResumePoint?, within limit: Cost) -> Bool {
        guard subject.restrictedGrants != nil, case .cursor(let cursor) = since, cursor.epoch == state.baseCursor.epoch,
            hasHistory(for: subject, after: cursor.revision)
        else { return false }
        return commits(for: subject, after: cursor.revision, within: limit)?.isEmpty ?? false
    }

    private func hasHistory(for subject: WatchSubject, since: ResumePoint) -> Bool {
        if case .cursor(let cursor) = since, cursor.epoch != state.epoch { return false }
        return hasHistory(for: subject, after: since.revision)
    }

    /// False if the subject is a single suite that does not exist. Any other subject has a state, which lists the
    /// missing suites.
    package func hasState(for subject: WatchSubject) -> Bool {
        !subject.isSingleSuite || state.hasSuite(subject.suites[0])
    }

    /// True if the history in memory has every commit that matches the subject and is newer than a revision.
    package func hasHistory(for subject: WatchSubject, after revision: Revision) -> Bool {
        // Usually the history has all commits after the revision. This check avoids the loops over the suites.
        guard state.history.oldestAvailable > revision else { return true }
        guard subject.suites.allSatisfy({ state.oldestAvailable(of: $0) <= revision }) else { return false }
        return subject.suitePrefixes.allSatisfy { prefix in
            // The history has a log for each suite that commits in memory affect: the list of these commits. The prefix
            // also matches suites without a log, such as a suite that was dropped long ago. After the revision
            // `oldestAvailableWithoutLog`, the history has evicted (removed) no commit of a suite without a log.
            guard state.history.oldestAvailableWithoutLog <= revision else { return false }
            var isComplete = true
            state.history.forEachLog(prefix: prefix.string) { log in
                isComplete = log.oldestAvailable <= revision
                return isComplete
            }
            return isComplete
        }
    }

    /// Visits the commits of a suite (nil: of all suites) after a revision, in order, until the body returns false.
    private func forEachCandidate(of suite: SuiteName?, after revision: Revision, _ body: (RetainedCommit) -> Bool) {
        if let suite {
            state.history.forEach(of: suite, after: revision, body)
        } else {
            state.history.forEach(after: revision, body)
        }
    }

    /// The suites whose commits are compared with the subject. If the subject has prefixes, the result has a single
    /// nil, which stands for all suites.
    private func candidates(for subject: WatchSubject) -> [SuiteName?] {
        subject.suitePrefixes.isEmpty ? subject.suites : [nil]
    }

    /// Returns the commits after a revision, up to and including `end`, that match a subject, oldest first. Returns nil
    /// if comparing the commits costs more than the limit.
    package func commits(
        for subject: WatchSubject, after revision: Revision, upTo end: Revision? = nil,
        within limit: Cost = .unlimited
    ) -> [RetainedCommit]? {
        var found: [RetainedCommit] = []
        var meter = CostMeter(within: limit)
        let candidates = candidates(for: subject)
        for suite in candidates {
            forEachCandidate(of: suite, after: revision) { retained in
                if let end, retained.commit.revision > end { return false }
                meter.add(retained.comparisonCost)
                if !meter.isExceeded, subject.matches(retained.commit) { found.append(retained) }
                return !meter.isExceeded
            }
            guard !meter.isExceeded else { return nil }
        }
        guard candidates.count > 1 else { return found }
        // A commit that affects several suites of the subject was found once for each of these suites.
        found = found.ordered { $0.commit.revision < $1.commit.revision }
        var unique: [RetainedCommit] = []
        for retained in found where unique.last?.commit.revision != retained.commit.revision { unique.append(retained) }
        return unique
    }

    /// Returns the first commits after a revision that match a subject, and the revision `reached`, up to which the
    /// search is complete. If `reached` is before the revision of the state, the calling code searches again after
    /// `reached`. `limit` bounds the cost of comparing commits. The cost of each suite of the subject is counted
    /// separately. `bytes` bounds the size of the returned commits, but the first commit may exceed this bound.
    package func nextCommits(
        for subject: WatchSubject, after revision: Revision, within limit: Cost, bytes: Int
    ) -> (commits: [RetainedCommit], reached: Revision) {
        var reached = state.revision
        for suite in candidates(for: subject) {
            var meter = CostMeter(within: limit)
            var lastCompared = revision
            forEachCandidate(of: suite, after: revision) { retained in
                guard !meter.isExceeded else {
                    reached = min(reached, lastCompared)
                    return false
                }
                meter.add(retained.comparisonCost)
                lastCompared = retained.commit.revision
                return true
            }
        }
        var found: [RetainedCommit] = []
        var size = 0
        for retained in commits(for: subject, after: revision, upTo: reached) ?? [] {
            if let last = found.last, size + retained.size > bytes { return (found, last.commit.revision) }
            found.append(retained)
            size += retained.size
        }
        return (found, reached)
    }
}

extension RetainedCommit {
    /// The estimated cost of comparing the commit with a subject.
    fileprivate var comparisonCost: Cost { .commitComparison + commit.changes.count * .changeComparison }
}
