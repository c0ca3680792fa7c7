internal import SettingsAPI

/// A list of commits in the order of their revisions (numbers). Copies share storage.
///
/// The history appends commits at the end, and removes most commits at the beginning. The commits between `oldest` and
/// `newest` are in chunks of up to 64, so that a change of a shared list copies only one array of at most 64
/// references. The change also copies the array of chunks if a chunk becomes full or empty, or if the change removes a
/// commit from the middle.
struct CommitList: Sendable {
    private static let chunkCapacity = 64

    private struct Chunk {
        var commits: [RetainedCommit]
        /// The revision of the first commit that the chunk had when it was made, even if this commit was removed. The
        /// value is higher than the revisions in earlier chunks, and not higher than the revisions in this chunk. A
        /// search reads `start` instead of the commits, because the commits are rarely in the processor cache.
        let start: Revision

        init(_ commits: [RetainedCommit]) {
            self.commits = commits
            start = commits[0].revision
        }
    }

    // The list consists of `oldest`, then `chunks`, then `newest`.
    private var oldest: [RetainedCommit] = []
    private var chunks: [Chunk] = []
    private var newest: [RetainedCommit] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var first: RetainedCommit? { oldest.first ?? chunks.first?.commits.first ?? newest.first }
    var last: RetainedCommit? { newest.last ?? chunks.last?.commits.last ?? oldest.last }

    /// Appends a commit, whose revision must be after the last revision in the list.
    mutating func append(_ commit: RetainedCommit) {
        if newest.count == Self.chunkCapacity {
            chunks.append(Chunk(newest))
            newest = []
        }
        newest.append(commit)
        count += 1
    }

    /// Removes the oldest commit and returns it.
    mutating func popFirst() -> RetainedCommit? {
        if oldest.isEmpty {
            if chunks.isEmpty { swap(&oldest, &newest) } else { oldest = chunks.removeFirst().commits }
        }
        guard !oldest.isEmpty else { return nil }
        count -= 1
        return oldest.removeFirst()
    }

    /// Removes the commit with a revision. Returns false if the list does not contain the commit.
    mutating func remove(_ revision: Revision) -> Bool {
        guard oldest.remove(revision) || removeFromChunks(revision) || newest.remove(revision) else { return false }
        count -= 1
        return true
    }

    private mutating func removeFromChunks(_ revision: Revision) -> Bool {
        let index = chunkIndex(of: revision)
        guard index < chunks.count, chunks[index].commits.remove(revision) else { return false }
        if chunks[index].commits.isEmpty {
            chunks.remove(at: index)
        } else if index + 1 < chunks.count,
            chunks[index].commits.count + chunks[index + 1].commits.count <= Self.chunkCapacity / 2
        {
            // Without this step, many removals from the middle would leave many small chunks.
            chunks[index].commits += chunks.remove(at: index + 1).commits
        }
        return true
    }

    /// The index of the only chunk that can contain the commit with a revision; 0 if the list has no such chunk.
    private func chunkIndex(of revision: Revision) -> Int {
        let chunks = chunks.span
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle].start > revision { high = middle } else { low = middle + 1 }
        }
        return max(0, low - 1)
    }

    /// Visits the commits after a revision in order. Stops, and returns false, if the body returns false.
    func forEach(after revision: Revision, _ body: (RetainedCommit) -> Bool) -> Bool {
        guard oldest[oldest.index(after: revision)...].allSatisfy(body) else { return false }
        for index in chunkIndex(of: revision)..<chunks.count {
            let commits = chunks[index].commits
            guard commits[commits.index(after: revision)...].allSatisfy(body) else { return false }
        }
        return newest[newest.index(after: revision)...].allSatisfy(body)
    }

    /// Visits the commits before a revision, the newest first. Stops, and returns false, if the body returns false.
    func forEachReversed(before revision: Revision, _ body: (RetainedCommit) -> Bool) -> Bool {
        guard newest[..<newest.index(from: revision)].reversed().allSatisfy(body) else { return false }
        for index in chunks.indices.prefix(chunkIndex(of: revision) + 1).reversed() {
            let commits = chunks[index].commits
            guard commits[..<commits.index(from: revision)].reversed().allSatisfy(body) else { return false }
        }
        return oldest[..<oldest.index(from: revision)].reversed().allSatisfy(body)
    }

    /// Returns the first commit after a revision.
    func first(after revision: Revision) -> RetainedCommit? {
        var found: RetainedCommit?
        _ = forEach(after: revision) { commit in
            found = commit
            return false
        }
        return found
    }

    /// Returns the commit with a revision.
    func find(_ revision: Revision) -> RetainedCommit? {
        var found: RetainedCommit?
        _ = forEachReversed(before: revision.advanced(by: 1) ?? revision) { commit in
            found = commit.revision == revision ? commit : nil
            return false
        }
        return found
    }
}

extension [RetainedCommit] {
    /// The index of the first commit whose revision is not before the given revision.
    fileprivate func index(from revision: Revision) -> Int {
        let commits = span
        var (low, high) = (0, commits.count)
        while low < high {
            let middle = (low + high) / 2
            if commits[middle].revision < revision { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The index of the first commit after a revision.
    fileprivate func index(after revision: Revision) -> Int {
        let index = index(from: revision)
        return index < count && self[index].revision == revision ? index + 1 : index
    }

    /// Removes the commit with a revision. Returns false if the array does not contain the commit.
    fileprivate mutating func remove(_ revision: Revision) -> Bool {
        let index = index(from: revision)
        guard index < count, self[index].revision == revision else { return false }
        remove(at: index)
        return true
    }
}
