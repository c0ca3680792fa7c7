package import SettingsAPI
package import SettingsModel

// Methods that search the history. The history in memory has two lists of commits. `newest` has every commit after the
// revision (commit number) `evictedThrough`. A commit up to `evictedThrough` was either evicted (removed), or is in
// `older` because a suite (a named set of settings) protects it as one of the newest commits of the suite. `logs` has a
// log for each suite: the commits of both lists that affect (change) the suite.
extension History {
    /// The commits after a revision, in order. No commit is missing if the revision is not before ``oldestAvailable``.
    package func commits(after revision: Revision) -> [RetainedCommit] { collect { forEach(after: revision, $0) } }

    /// All commits in order.
    package var all: [RetainedCommit] { commits(after: .zero) }

    /// The commits after a revision that affect a suite, in order. No commit is missing if the revision is not before
    /// ``oldestAvailable(of:)``.
    package func commits(of suite: SuiteName, after revision: Revision) -> [RetainedCommit] {
        collect { forEach(of: suite, after: revision, $0) }
    }

    /// The commits after a revision that affect a suite, in order.
    ///
    /// If the log of the suite lacks commits after the revision, this method searches all commits of the history. The
    /// search also finds commits that were removed from the log of this suite, but that another affected suite
    /// protects. The result lacks commits only if the revision is before both ``oldestAvailable`` and
    /// ``oldestAvailable(of:)``.
    package func commits(affecting suite: SuiteName, after revision: Revision) -> [RetainedCommit] {
        guard oldestAvailable(of: suite) > revision else { return commits(of: suite, after: revision) }
        return commits(after: revision).filter { $0.affects(suite) }
    }

    private func collect(_ visit: ((RetainedCommit) -> Bool) -> Void) -> [RetainedCommit] {
        var found: [RetainedCommit] = []
        visit { commit in
            found.append(commit)
            return true
        }
        return found
    }

    /// Visits the commits after a revision in order until the body returns false.
    package func forEach(after revision: Revision, _ body: (RetainedCommit) -> Bool) {
        if revision < evictedThrough, !older.forEach(after: revision, body) { return }
        _ = newest.forEach(after: revision, body)
    }

    /// Visits the commits after a revision that affect a suite, in order, until the body returns false.
    func forEach(of suite: SuiteName, after revision: Revision, _ body: (RetainedCommit) -> Bool) {
        logs.forEach(of: suite, after: revision, body)
    }

    /// Visits the commits before a revision that affect a suite, the newest first, until the body returns false.
    package func forEachReversed(of suite: SuiteName, before revision: Revision, _ body: (RetainedCommit) -> Bool) {
        logs.forEachReversed(of: suite, before: revision, body)
    }

    /// The commit with a revision; nil if the history does not have that commit.
    package func commit(_ revision: Revision) -> RetainedCommit? {
        revision > evictedThrough ? newest.find(revision) : older.find(revision)
    }

    /// The name of the caller that made a commit, and the caller's reason (`note`); nil if the commit has neither, or
    /// if the history does not have the commit.
    package func origin(of revision: Revision) -> CommitOrigin? { commit(revision)?.commit.origin }

    /// The revision of the last commit up to `revision` that affects a suite; nil if the history does not have this
    /// commit. Also nil if the history lacks a commit of the suite that is newer than the found commit and was too
    /// large for the history, because the missing commit may be the last commit up to `revision`.
    package func last(of suite: SuiteName, upTo revision: Revision) -> Revision? {
        guard let end = revision.advanced(by: 1) else { return nil }
        var last: Revision?
        forEachReversed(of: suite, before: end) { retained in
            last = retained.revision
            return false
        }
        return last.flatMap { $0 > oldestAvailable(of: suite) ? $0 : nil }
    }

    /// The last commit in the order of revisions whose time is not after an instant; nil if the history has no such
    /// commit. The search is linear, because the times of commits are out of order after the clock was set back.
    func last(notAfter instant: Timestamp) -> RetainedCommit? {
        guard let end = Revision(.max) else { return nil }
        var found: RetainedCommit?
        func visit(_ commit: RetainedCommit) -> Bool {
            if commit.commit.time.milliseconds <= instant.milliseconds { found = commit }
            return found == nil
        }
        if newest.forEachReversed(before: end, visit) { _ = older.forEachReversed(before: end, visit) }
        return found
    }

    /// Adds the cost of processing the commits after a revision that affect a suite, until the meter exceeds its limit.
    /// `cost` returns the cost of processing one commit, given its size in bytes.
    func addCost(
        ofCommitsOf suite: SuiteName, after revision: Revision, to meter: inout CostMeter, _ cost: (Int) -> Cost
    ) {
        guard !meter.isExceeded else { return }
        forEach(of: suite, after: revision) { retained in
            meter.add(cost(retained.size))
            return !meter.isExceeded
        }
    }
}

// The logs of the suites.
extension History {
    /// The oldest revision at which a suite can still be read: the history has all later commits that affect the suite.
    package func oldestAvailable(of suite: SuiteName) -> Revision { logs.oldestAvailable(of: suite) }

    /// The oldest available revision of every suite that no commit in the history affects.
    package var oldestAvailableWithoutLog: Revision { logs.oldestAvailableWithoutLog }

    /// True if the history has a commit that affects the suite.
    package func hasCommits(of suite: SuiteName) -> Bool { logs.hasLog(of: suite) }

    /// Visits the logs of the suites whose names begin with a prefix, by name, until the body returns false.
    package func forEachLog(prefix: String = "", _ body: (SuiteLog) -> Bool) { logs.forEach(prefix: prefix, body) }

    /// Visits the logs by name, from the first whose name is not before `start`, until the body returns false.
    func forEachLog(startingAt start: String, _ body: (SuiteLog) -> Bool) { logs.forEach(startingAt: start, body) }
}
