package import SettingsAPI
internal import SettingsModel

/// A result of looking for what a watcher does not know yet.
package enum Finding: Sendable {
    /// The one suite that it asks for does not exist, and its history is not known.
    case absent
    /// The state as a whole, since the watcher has none, or since the history does not reach back to its place.
    case state(isReset: Bool)
    /// The commits that concern it, oldest first; never empty.
    case commits([KeptCommit])
    /// Nothing has happened since.
    case nothing
    /// Comparing the commits would have cost more than the limit.
    case undecided
}

/// A reader of a state for watchers.
package struct WatchReader: Sendable {
    package let state: State

    package init(_ state: State) {
        self.state = state
    }
}

// Search.
extension WatchReader {
    /// Looks for what a watcher does not know yet.
    ///
    /// - Parameters:
    ///   - since: the last place in history that the watcher knows; nil if it knows nothing.
    ///   - limit: the most that comparing commits may cost.
    package func find(_ subject: WatchSubject, since: ResumePoint?, within limit: Cost = .unlimited) -> Finding {
        guard let since, hasHistory(for: subject, since: since) else {
            return hasState(for: subject) ? .state(isReset: since != nil) : .absent
        }
        guard let commits = commits(for: subject, after: since.revision, within: limit) else { return .undecided }
        return commits.isEmpty ? .nothing : .commits(commits)
    }

    /// True if a caller with limited grants presents a cursor of a caller that sees everything, and no visible commit
    /// follows that cursor.
    package func isUpToDate(_ subject: WatchSubject, since: ResumePoint?, within limit: Cost) -> Bool {
        guard subject.reader != nil, case .cursor(let cursor) = since, cursor.epoch == state.baseCursor.epoch,
            hasHistory(for: subject, after: cursor.revision)
        else { return false }
        return commits(for: subject, after: cursor.revision, within: limit)?.isEmpty ?? false
    }

    private func hasHistory(for subject: WatchSubject, since: ResumePoint) -> Bool {
        if case .cursor(let cursor) = since, cursor.epoch != state.epoch { return false }
        return hasHistory(for: subject, after: since.revision)
    }

    /// True if there is a state to show: of several suites also if all of them are missing.
    package func hasState(for subject: WatchSubject) -> Bool {
        !subject.isSingleSuite || state.hasSuite(subject.suites[0])
    }

    /// True if the history has every commit after a revision that concerns the watcher.
    package func hasHistory(for subject: WatchSubject, after revision: Revision) -> Bool {
        // Mostly no commit at all was dropped since then, and the suites need not be looked at one by one.
        guard state.history.oldestAvailable > revision else { return true }
        guard subject.suites.allSatisfy({ state.oldestAvailable(of: $0) <= revision }) else { return false }
        return subject.suitePrefixes.allSatisfy { prefix in
            // A suite that was dropped is watched, too, for as long as it has a log, and counts with those that have none.
            guard state.history.oldestAvailableWithoutLog <= revision else { return false }
            var isReached = true
            state.history.forEachLog(prefix: prefix.string) { log in
                isReached = log.oldestAvailable <= revision
                return isReached
            }
            return isReached
        }
    }

    /// Visits the commits after a revision that may concern a watcher, in order: those of a suite, or of all suites if
    /// none is given.
    private func forEachCandidate(of suite: SuiteName?, after revision: Revision, _ body: (KeptCommit) -> Bool) {
        if let suite {
            state.history.forEach(of: suite, after: revision, body)
        } else {
            state.history.forEach(after: revision, body)
        }
    }

    /// The suites whose logs have the commits that concern a watcher; one nil if those of all suites are to be searched.
    private func candidates(for subject: WatchSubject) -> [SuiteName?] {
        subject.suitePrefixes.isEmpty ? subject.suites : [nil]
    }

    /// Returns the commits after a revision that concern a watcher, oldest first. Returns nil if comparing the
    /// commits costs more than the limit.
    package func commits(
        for subject: WatchSubject, after revision: Revision, upTo end: Revision? = nil,
        within limit: Cost = .unlimited
    ) -> [KeptCommit]? {
        var found: [KeptCommit] = []
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
        // A commit that touched several suites stands in the log of each.
        found = found.ordered { $0.commit.revision < $1.commit.revision }
        var unique: [KeptCommit] = []
        for kept in found where unique.last?.commit.revision != kept.commit.revision { unique.append(kept) }
        return unique
    }

    /// Returns the first of the commits after a revision that concern a watcher, and the place up to which they were
    /// looked for. The caller goes on from there until that is the state's own revision.
    ///
    /// - Parameters:
    ///   - limit: the most that comparing the commits of each named suite, or of all suites, may cost.
    ///   - bytes: the most memory of the commits together. At least one commit is returned.
    package func nextCommits(
        for subject: WatchSubject, after revision: Revision, within limit: Cost, bytes: Int
    ) -> (commits: [KeptCommit], reached: Revision) {
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
        var found: [KeptCommit] = []
        var size = 0
        for kept in commits(for: subject, after: revision, upTo: reached) ?? [] {
            if let last = found.last, size + kept.size > bytes { return (found, last.commit.revision) }
            found.append(kept)
            size += kept.size
        }
        return (found, reached)
    }
}

extension KeptCommit {
    /// The cost of comparing the commit with a subject.
    fileprivate var comparisonCost: Cost { .commitComparison + commit.changes.count * .changeComparison }
}
