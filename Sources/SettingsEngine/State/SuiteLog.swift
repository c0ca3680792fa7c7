package import SettingsAPI
package import SettingsModel

/// A log of the commits that touch one suite, which may have been dropped.
package struct SuiteLog: TreeElement {
    package let suite: SuiteName
    /// Of the commits that touched the suite, those after this one are kept.
    package private(set) var start: Revision
    /// The last commit that was too large to be kept; zero if there was none.
    package internal(set) var gap: Revision
    private(set) var commits = OrderedTree<KeptCommit>()
    /// The commits after this one are protected.
    private var outgrown = Revision.zero
    private var protected = (count: 0, size: 0)

    package init(_ suite: SuiteName, start: Revision, gap: Revision = .zero) {
        self.suite = suite
        self.start = start
        self.gap = gap
    }

    package var treeKey: UTF8Text { UTF8Text(suite.text) }
    /// Every commit after this one that touched the suite is kept.
    package var floor: Revision { max(start, gap) }

    func holds(_ commit: KeptCommit) -> Bool { commit.revision > start }
    func protects(_ commit: KeptCommit) -> Bool { commit.revision > outgrown }

    mutating func add(_ commit: KeptCommit) {
        guard commits.append(commit) else { return }
        protected.count += 1
        protected.size += commit.size
    }

    private func exceeds(_ limits: History.Limits) -> Bool {
        protected.count > limits.suiteCommits || protected.size > limits.suiteBytes
    }

    private var oldestProtected: KeptCommit? {
        max(outgrown, start).advanced(by: 1).flatMap { commits.first(from: $0) }
    }

    /// Ends the protection of the oldest protected commit.
    private mutating func release(_ commit: KeptCommit) {
        protected.count -= 1
        protected.size -= commit.size
        outgrown = commit.revision
    }

    /// Ends the protection of the oldest until the bounds hold. Returns those of them that were spared, which it drops.
    mutating func release(_ limits: History.Limits, upTo passed: Revision) -> [KeptCommit] {
        var released: [KeptCommit] = []
        while exceeds(limits), let oldest = oldestProtected {
            release(oldest)
            // Of what was spared, the log has only what it protects, so this one is its first.
            guard oldest.revision <= passed else { continue }
            dropFirst(oldest)
            released.append(oldest)
        }
        return released
    }

    /// Removes the oldest commit.
    mutating func dropFirst(_ commit: KeptCommit) {
        if protects(commit) { release(commit) }
        start = commit.revision
        commits.remove(commit.revision)
    }
}
