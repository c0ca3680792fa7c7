package import SettingsAPI
package import SettingsModel

/// A log of the commits that touch one suite, which may have been dropped.
package struct SuiteLog: TreeElement {
    package let suite: SuiteName
    /// Of the commits that touched the suite, those after this one are kept.
    package private(set) var start: Revision
    /// The last commit that was too large to be kept; zero if there was none.
    package internal(set) var gap: Revision
    /// The commits that newer ones have deprived of their protection.
    private var outgrown = CommitQueue()
    /// The commits that are protected, which are the newest.
    private var protected = CommitQueue()
    private var protectedSize = 0

    package init(_ suite: SuiteName, start: Revision, gap: Revision = .zero) {
        self.suite = suite
        self.start = start
        self.gap = gap
    }

    package var treeKey: UTF8Text { UTF8Text(suite.text) }
    /// Every commit after this one that touched the suite is kept.
    package var floor: Revision { max(start, gap) }

    var isEmpty: Bool { outgrown.isEmpty && protected.isEmpty }

    func holds(_ commit: KeptCommit) -> Bool { commit.revision > start }
    func protects(_ commit: KeptCommit) -> Bool { protected.first.map { commit.revision >= $0.revision } ?? false }

    /// Visits the commits in order, from the first that is not before `start`, until `body` returns false.
    func forEach(startingAt start: Revision, _ body: (KeptCommit) -> Bool) {
        _ = outgrown.forEach(startingAt: start, body) && protected.forEach(startingAt: start, body)
    }

    /// Visits the commits backwards, from the last that is before `end`, until `body` returns false.
    func forEachReversed(before end: Revision, _ body: (KeptCommit) -> Bool) {
        _ = protected.forEachReversed(before: end, body) && outgrown.forEachReversed(before: end, body)
    }

    mutating func add(_ commit: KeptCommit) {
        protected.append(commit)
        protectedSize += commit.size
    }

    private func exceeds(_ limits: History.Limits) -> Bool {
        protected.count > limits.suiteCommits || protectedSize > limits.suiteBytes
    }

    /// Ends the protection of the oldest protected commit.
    private mutating func release() -> KeptCommit? {
        guard let oldest = protected.popFirst() else { return nil }
        protectedSize -= oldest.size
        return oldest
    }

    /// Ends the protection of the oldest until the bounds hold. Returns those of them that were spared, which it drops.
    mutating func release(_ limits: History.Limits, upTo passed: Revision) -> [KeptCommit] {
        var released: [KeptCommit] = []
        while exceeds(limits), let oldest = release() {
            // Of what was spared, the log has only what it protects, so this one is its first.
            if oldest.revision <= passed {
                start = oldest.revision
                released.append(oldest)
            } else {
                outgrown.append(oldest)
            }
        }
        return released
    }

    /// Removes the oldest commit.
    mutating func dropFirst() {
        if let first = outgrown.popFirst() ?? release() { start = first.revision }
    }
}
