package import SettingsAPI
package import SettingsModel

/// The kept commits that touched one suite.
package struct SuiteLog: Named {
    /// The suite, which may have been dropped.
    package let suite: SuiteName
    /// An array of one, which is copied as one reference: many logs lie side by side, and a reader has all of them
    /// copied when one of them changes.
    private var content: [Content]

    fileprivate struct Content {
        var commits = CommitQueue()
        var start: Revision
        var gap: Revision
        /// The newest of the commits, those that others must not push out: how many, and their bytes.
        var protectedCount = 0
        var protectedSize = 0
        /// The commits after this one are those. Told by a number, since it is asked of logs that nobody looked at for
        /// long.
        var outgrown = Revision.zero
    }

    package var name: String { suite.text }

    /// In order.
    var commits: CommitQueue { content[0].commits }

    /// Of the commits that touched the suite, those after this one are in ``commits``, and none of the others is.
    package var start: Revision { content[0].start }

    /// The last commit that was too large to be kept; zero if there was none.
    package var gap: Revision { content[0].gap }

    /// Every commit after this one that touched the suite is kept.
    package var floor: Revision { max(content[0].start, content[0].gap) }

    package init(_ suite: SuiteName, start: Revision, gap: Revision = .zero) {
        self.suite = suite
        content = [Content(start: start, gap: gap)]
    }

    func holds(_ commit: KeptCommit) -> Bool {
        commit.revision > content[0].start
    }

    func protects(_ commit: KeptCommit) -> Bool {
        commit.revision > content[0].outgrown
    }

    /// Adds the newest commit.
    ///
    /// - Returns: what is let go of: what the suite protects no longer, as far as it is there for that reason alone.
    mutating func append(_ commit: KeptCommit, limits: History.Limits, spared last: Revision) -> [KeptCommit] {
        content[0].append(commit, limits, spared: last)
    }

    /// Lets go of the oldest commit.
    mutating func dropFirst() {
        content[0].dropFirst()
    }

    mutating func noteGap(at revision: Revision) {
        content[0].gap = max(content[0].gap, revision)
    }
}

extension SuiteLog.Content {
    mutating func append(_ commit: KeptCommit, _ limits: History.Limits, spared last: Revision) -> [KeptCommit] {
        commits.append(commit)
        protectedCount += 1
        protectedSize += commit.size
        var released: [KeptCommit] = []
        while protectedCount > limits.suiteCommits || protectedSize > limits.suiteBytes {
            let oldest = commits[commits.count - protectedCount]
            protectedCount -= 1
            protectedSize -= oldest.size
            outgrown = oldest.revision
            // Of what was spared, the log has nothing but what it protects: this one is its first.
            guard oldest.revision <= last else { continue }
            dropFirst()
            released.append(oldest)
        }
        return released
    }

    mutating func dropFirst() {
        guard let first = commits.popFirst() else { return }
        start = first.revision
        if protectedCount > commits.count {
            protectedCount -= 1
            protectedSize -= first.size
        }
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
