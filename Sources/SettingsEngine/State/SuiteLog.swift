package import SettingsAPI
package import SettingsModel

/// The commits of the history that touched one suite. The suite may have been dropped since.
package struct SuiteLog: TreeElement {
    package let suite: SuiteName
    /// The history has every commit after this one that touched the suite, except commits that were too large for it.
    package private(set) var evictedThrough: Revision
    /// The last commit that touched the suite and was too large for the history; zero if there was none.
    package internal(set) var lastOversized: Revision
    private var commits = CommitList()
    /// The suite protects all of its commits after this one from the eviction of the oldest commits of the history.
    private var unprotectedThrough = Revision.zero
    private var protectedCount = 0
    private var protectedBytes = 0

    package init(_ suite: SuiteName, evictedThrough: Revision, lastOversized: Revision = .zero) {
        self.suite = suite
        self.evictedThrough = evictedThrough
        self.lastOversized = lastOversized
    }

    package var name: String { suite.text }
    /// The history has every commit after this one that touched the suite.
    package var oldestAvailable: Revision { max(evictedThrough, lastOversized) }

    var isEmpty: Bool { commits.isEmpty }

    func holds(_ commit: KeptCommit) -> Bool { commit.revision > evictedThrough }
    func protects(_ commit: KeptCommit) -> Bool { commit.revision > unprotectedThrough }

    /// Visits the commits after a revision in order until the body returns false.
    func forEach(after revision: Revision, _ body: (KeptCommit) -> Bool) {
        _ = commits.forEach(after: revision, body)
    }

    /// Visits the commits before a revision, the newest first, until the body returns false.
    func forEachReversed(before revision: Revision, _ body: (KeptCommit) -> Bool) {
        _ = commits.forEachReversed(before: revision, body)
    }

    /// Appends a commit, which the suite protects.
    mutating func append(_ commit: KeptCommit) {
        commits.append(commit)
        protectedCount += 1
        protectedBytes += commit.size
    }

    /// Ends the protection of the oldest commits until the limits hold. Of these commits, removes the commits up to a revision.
    ///
    /// - Returns: the removed commits.
    mutating func removeUnprotected(through revision: Revision, limits: History.Limits) -> [KeptCommit] {
        var removed: [KeptCommit] = []
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

    private mutating func unprotectOldest() -> KeptCommit? {
        guard let oldest = commits.first(after: unprotectedThrough) else { return nil }
        unprotectedThrough = oldest.revision
        protectedCount -= 1
        protectedBytes -= oldest.size
        return oldest
    }

    /// Removes the oldest commit.
    mutating func removeFirst() {
        guard let first = commits.first else { return }
        if protects(first) { _ = unprotectOldest() }
        _ = commits.popFirst()
        evictedThrough = first.revision
    }
}
