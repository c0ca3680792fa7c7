package import SettingsAPI
package import SettingsModel

/// A log of the commits that touch one suite, which may have been dropped.
package struct SuiteLog: TreeElement {
    package let suite: SuiteName
    /// Of the commits that touched the suite, those after this one are kept.
    package private(set) var start: Revision
    /// The last commit that was too large to be kept; zero if there was none.
    package internal(set) var gap: Revision
    private var commits = CommitQueue()
    /// The last commit that newer ones have deprived of its protection. All after it are protected.
    private var outgrown = Revision.zero
    /// The next commits to be deprived of it, the first of them last. No slice of the queue, which would keep a whole chunk.
    private var next: [KeptCommit] = []
    private var protectedCount = 0
    private var protectedSize = 0

    package init(_ suite: SuiteName, start: Revision, gap: Revision = .zero) {
        self.suite = suite
        self.start = start
        self.gap = gap
    }

    package var treeKey: UTF8Text { UTF8Text(suite.text) }
    /// Every commit after this one that touched the suite is kept.
    package var floor: Revision { max(start, gap) }

    var isEmpty: Bool { commits.isEmpty }

    func holds(_ commit: KeptCommit) -> Bool { commit.revision > start }
    func protects(_ commit: KeptCommit) -> Bool { commit.revision > outgrown }

    /// Visits the commits in order, from the first that is not before `start`, until `body` returns false.
    /// Returns false if it did.
    func forEach(startingAt start: Revision, _ body: (KeptCommit) -> Bool) -> Bool {
        commits.forEach(startingAt: start, body)
    }

    /// Visits the commits backwards, from the last that is before `end`, until `body` returns false.
    func forEachReversed(before end: Revision, _ body: (KeptCommit) -> Bool) {
        _ = commits.forEachReversed(before: end, body)
    }

    mutating func add(_ commit: KeptCommit) {
        commits.append(commit)
        protectedCount += 1
        protectedSize += commit.size
    }

    private func exceeds(_ limits: History.Limits) -> Bool {
        protectedCount > limits.suiteCommits || protectedSize > limits.suiteBytes
    }

    /// Ends the protection of the oldest protected commit.
    private mutating func release() -> KeptCommit? {
        if next.isEmpty { next = commits.some(after: outgrown).reversed() }
        guard let oldest = next.popLast() else { return nil }
        outgrown = oldest.revision
        protectedCount -= 1
        protectedSize -= oldest.size
        return oldest
    }

    /// Ends the protection of the oldest until the bounds hold. Returns those of them that were spared, which it drops.
    mutating func release(_ limits: History.Limits, upTo passed: Revision) -> [KeptCommit] {
        var released: [KeptCommit] = []
        while exceeds(limits), let oldest = release() {
            guard oldest.revision <= passed else { continue }
            // Of what was spared, the log has only what it protects, so this one is its first.
            _ = commits.popFirst()
            start = oldest.revision
            released.append(oldest)
        }
        return released
    }

    /// Removes the oldest commit.
    mutating func dropFirst() {
        guard let first = commits.first else { return }
        if protects(first) { _ = release() }
        _ = commits.popFirst()
        start = first.revision
    }
}
