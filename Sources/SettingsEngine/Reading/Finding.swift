package import SettingsAPI
internal import SettingsModel

/// The result of ``WatchReader/find(_:since:within:)``: the data that a watcher does not have yet. A watcher is a
/// client that waits for changes of the suites and keys in its ``WatchSubject``.
package enum Finding: Sendable {
    /// The subject is a single suite that does not exist, and the history lacks commits after the resume point (the
    /// revision of the state that the watcher has).
    case absent
    /// The watcher needs the current state of its subject. `isReset` is true if it must discard an earlier state,
    /// because the history lacks commits after the resume point.
    case state(isReset: Bool)
    /// The commits that match the subject, oldest first; never empty.
    case commits([RetainedCommit])
    /// No commit after the resume point matches the subject.
    case nothing
    /// The search was stopped, because comparing the commits costs more than the limit.
    case undecided
}

/// Finds the data of one state that watchers receive.
package struct WatchReader: Sendable {
    package let state: State

    package init(_ state: State) {
        self.state = state
    }
}

// Search.
extension WatchReader {
    /// Finds the data that a watcher does not have yet.
    ///
    /// - Parameters:
    ///   - since: the resume point: the cursor or revision of the state that the watcher has; nil if it has no state.
    ///   - limit: the maximum cost of comparing commits with the subject.
    package func find(_ subject: WatchSubject, since: ResumePoint?, within limit: Cost = .unlimited) -> Finding {
        guard let since, hasHistory(for: subject, since: since) else {
            return hasState(for: subject) ? .state(isReset: since != nil) : .absent
        }
        guard let commits = commits(for: subject, after: since.revision, within: limit) else { return .undecided }
        return commits.isEmpty ? .nothing : .commits(commits)
    }

    /// True if a caller with limited grants resumes from a cursor that was issued without such limits and therefore has
    /// another epoch, and no commit after the cursor matches the subject.
    package func isUpToDate(_ subject: WatchSubject, since: ResumePoint?, within limit: Cost) -> Bool {
        guard subject.readLimits != nil, case .cursor(let cursor) = since, cursor.epoch == state.baseCursor.epoch,
            hasHistory(for: subject, after: cursor.revision)
        else { return false }
        return commits(for: subject, after: cursor.revision, within: limit)?.isEmpty ?? false
    }

    private func hasHistory(for subject: WatchSubject, since: ResumePoint) -> Bool {
        if case .cursor(let cursor) = since, cursor.epoch != state.epoch { return false }
        return hasHistory(for: subject, after: since.revision)
    }

    /// True unless the subject is a single suite that does not exist. The state of several suites lists missing suites.
    package func hasState(for subject: WatchSubject) -> Bool {
        !subject.isSingleSuite || state.hasSuite(subject.suites[0])
    }

    /// True if the history has every commit after a revision that matches the subject.
    package func hasHistory(for subject: WatchSubject, after revision: Revision) -> Bool {
        // Usually the history has all commits after the revision. This check avoids the loops over the suites.
        guard state.history.oldestAvailable > revision else { return true }
        guard subject.suites.allSatisfy({ state.oldestAvailable(of: $0) <= revision }) else { return false }
        return subject.suitePrefixes.allSatisfy { prefix in
            // The prefix also matches dropped suites. This bound applies to suites without commits in the history.
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

    /// The suites whose commits are compared with the subject; one nil for all suites, if the subject has prefixes.
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
            forEachCandidate(of: suite, after: revision) { kept in
                if let end, kept.commit.revision > end { return false }
                meter.add(kept.comparisonCost)
                if !meter.isExceeded, subject.matches(kept.commit) { found.append(kept) }
                return !meter.isExceeded
            }
            guard !meter.isExceeded else { return nil }
        }
        guard candidates.count > 1 else { return found }
        // A commit that affects several suites of the subject was found once for each of them.
        found = found.ordered { $0.commit.revision < $1.commit.revision }
        var unique: [RetainedCommit] = []
        for kept in found where unique.last?.commit.revision != kept.commit.revision { unique.append(kept) }
        return unique
    }

    /// Returns the first commits after a revision that match a subject, and the revision up to which the search is
    /// complete. The caller continues from there until it reaches the revision of the state. `limit` bounds the cost of
    /// comparing commits, for each named suite. `bytes` bounds the size of the returned commits, except for a single
    /// commit.
    package func nextCommits(
        for subject: WatchSubject, after revision: Revision, within limit: Cost, bytes: Int
    ) -> (commits: [RetainedCommit], reached: Revision) {
        var reached = state.revision
        for suite in candidates(for: subject) {
            var meter = CostMeter(within: limit)
            var last = revision
            forEachCandidate(of: suite, after: revision) { kept in
                guard !meter.isExceeded else {
                    reached = min(reached, last)
                    return false
                }
                meter.add(kept.comparisonCost)
                last = kept.commit.revision
                return true
            }
        }
        var found: [RetainedCommit] = []
        var size = 0
        for kept in commits(for: subject, after: revision, upTo: reached) ?? [] {
            if let last = found.last, size + kept.size > bytes { return (found, last.commit.revision) }
            found.append(kept)
            size += kept.size
        }
        return (found, reached)
    }
}

extension RetainedCommit {
    /// The cost of comparing the commit with a subject.
    fileprivate var comparisonCost: Cost { .commitComparison + commit.changes.count * .changeComparison }
}
