package import SettingsAPI
package import SettingsModel

/// The commits of the ``History`` (the commits in memory) that affect one suite (a named set of settings): that change
/// the suite, its schema or its keys. The suite itself may have been dropped (deleted).
///
/// A suite protects a limited number of its newest commits: the history evicts (removes) unprotected commits first.
package struct SuiteLog: TreeElement {
    package let suite: SuiteName
    /// The log has no commits up to this revision (commit number). It has every later commit that affects the suite,
    /// except commits that are too large for the history.
    package private(set) var evictedThrough: Revision
    /// The revision of the last commit that affects the suite and is too large for the history; zero if no commit of
    /// the suite was too large.
    package internal(set) var lastOversized: Revision
    private var commits = CommitList()
    /// The suite protects the commits of this log after this revision, and no other commits.
    private var unprotectedThrough = Revision.zero
    private var protectedCount = 0
    private var protectedBytes = 0

    package init(_ suite: SuiteName, evictedThrough: Revision, lastOversized: Revision = .zero) {
        self.suite = suite
        self.evictedThrough = evictedThrough
        self.lastOversized = lastOversized
    }

    package var name: String { suite.text }
    /// The oldest revision at which the suite can still be read: the log has every later commit that affects the suite.
    package var oldestAvailable: Revision { max(evictedThrough, lastOversized) }

    var isEmpty: Bool { commits.isEmpty }
    /// The revision of the last commit of the log; zero if the log is empty.
    var lastRevision: Revision { commits.last?.revision ?? .zero }

    func hasEvicted(_ commit: RetainedCommit) -> Bool { commit.revision <= evictedThrough }
    func protects(_ commit: RetainedCommit) -> Bool { commit.revision > unprotectedThrough }

    /// Visits the commits after a revision in order until the body returns false.
    func forEach(after revision: Revision, _ body: (RetainedCommit) -> Bool) {
        _ = commits.forEach(after: revision, body)
    }

    /// Visits the commits before a revision, the newest first, until the body returns false.
    func forEachReversed(before revision: Revision, _ body: (RetainedCommit) -> Bool) {
        _ = commits.forEachReversed(before: revision, body)
    }

    /// Appends a commit, and protects it.
    mutating func append(_ commit: RetainedCommit) {
        commits.append(commit)
        protectedCount += 1
        protectedBytes += commit.size
    }

    /// Ends the protection of the oldest protected commits until the protected commits are within the limits. If a
    /// commit that loses its protection is not after `revision`, removes the commit from the log. Returns the removed
    /// commits.
    ///
    /// - Parameter revision: the revision up to which the history has evicted all commits that no suite protects.
    mutating func removeUnprotected(through revision: Revision, limits: History.Limits) -> [RetainedCommit] {
        var removed: [RetainedCommit] = []
        while protectedCount > limits.suiteCommits || protectedBytes > limits.suiteBytes,
            let oldest = unprotectOldest()
        {
            guard oldest.revision <= revision else { continue }
            // All commits of the log up to the revision were protected, so this commit is the first of the log.
            removeFirst()
            removed.append(oldest)
        }
        return removed
    }

    /// Ends the protection of the oldest protected commit and returns the commit.
    private mutating func unprotectOldest() -> RetainedCommit? {
        guard let oldest = commits.first(after: unprotectedThrough) else { return nil }
        unprotectedThrough = oldest.revision
        protectedCount -= 1
        protectedBytes -= oldest.size
        return oldest
    }

    /// Removes the first commit of the log, and ends its protection.
    mutating func removeFirst() {
        guard let first = commits.first else { return }
        if protects(first) { _ = unprotectOldest() }
        _ = commits.popFirst()
        evictedThrough = first.revision
    }
}
