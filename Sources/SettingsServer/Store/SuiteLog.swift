package import SettingsModel

/// The kept commits that touched one suite.
package struct SuiteLog: Named {
    /// The suite, which may have been dropped.
    package let suite: SuiteName
    /// In order.
    private(set) var commits = CommitQueue()
    /// Of the commits that touched the suite, those after this one are in ``commits``, and none of the others is.
    package private(set) var start: Revision
    /// The last commit that was too large to be kept; zero if there was none.
    package private(set) var gap: Revision
    /// The newest of the commits, those that others must not push out: how many, and their bytes.
    private var protectedCount = 0
    private var protectedSize = 0

    package var name: String { suite.text }

    /// Every commit after this one that touched the suite is kept.
    package var floor: Revision { max(start, gap) }

    package init(_ suite: SuiteName, start: Revision, gap: Revision = .zero) {
        self.suite = suite
        self.start = start
        self.gap = gap
    }

    func holds(_ commit: KeptCommit) -> Bool {
        commit.revision > start
    }

    func protects(_ commit: KeptCommit) -> Bool {
        protectedCount > 0 && commit.revision >= commits[commits.count - protectedCount].revision
    }

    /// Adds the newest commit.
    ///
    /// - Returns: what is let go of: what the suite protects no longer, as far as it is there for that reason alone.
    mutating func append(_ commit: KeptCommit, limits: History.Limits, spared last: Revision) -> [KeptCommit] {
        commits.append(commit)
        protectedCount += 1
        protectedSize += commit.size
        var released: [KeptCommit] = []
        while protectedCount > limits.suiteCommits || protectedSize > limits.suiteBytes {
            let oldest = commits[commits.count - protectedCount]
            protectedCount -= 1
            protectedSize -= oldest.size
            // Of what was spared, the log has nothing but what it protects: this one is its first.
            if oldest.revision <= last, dropFirst() != nil { released.append(oldest) }
        }
        return released
    }

    /// Lets go of the oldest commit.
    @discardableResult
    mutating func dropFirst() -> KeptCommit? {
        guard let first = commits.popFirst() else { return nil }
        start = first.revision
        if protectedCount > commits.count {
            protectedCount -= 1
            protectedSize -= first.size
        }
        return first
    }

    mutating func noteGap(at revision: Revision) {
        gap = max(gap, revision)
    }
}

extension RandomAccessCollection<KeptCommit> where Index == Int {
    /// Those after a revision, in order as they are.
    func after(_ revision: Revision) -> SubSequence { self[place(after: revision)...] }

    /// Those that are not after a revision, in order as they are.
    func upTo(_ revision: Revision) -> SubSequence { self[..<place(after: revision)] }

    private func place(after revision: Revision) -> Index {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].revision > revision { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
