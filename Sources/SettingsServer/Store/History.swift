package import SettingsModel

/// A commit that is kept, with its weight.
package final class KeptCommit: Sendable {
    /// The commit.
    package let commit: Commit
    /// About how many bytes of memory it takes.
    package let size: Int

    package init(_ commit: Commit) {
        self.commit = commit
        size = commit.weight
    }
}

/// The recent commits, oldest first, bounded by number and by bytes.
///
/// Kept in short arrays of references, so that a copy of the history costs little and one that is held by a reader
/// makes an append copy one short array.
package struct History: Sendable {
    /// The bounds, in commits and in bytes of memory.
    package struct Limits: Sendable {
        package var commits = 65_536
        package var bytes = 64 << 20

        package init() {}
    }

    private static let chunk = 128

    private var chunks: [[KeptCommit]] = []
    /// How many commits of the first chunk are forgotten already.
    private var forgotten = 0
    /// What those weigh that are forgotten and still held.
    private var forgottenSize = 0
    /// The number of commits.
    package private(set) var count = 0
    /// About how many bytes of memory the commits take.
    package private(set) var size = 0
    /// Every commit after this revision is kept.
    package private(set) var floor: Revision

    package init(floor: Revision) {
        self.floor = floor
    }

    /// The commits after a revision that is not before ``floor``, oldest first.
    package func commits(after revision: Revision) -> some Sequence<KeptCommit> {
        let place = position(after: revision)
        return chunks[place.chunk...].enumerated().lazy.flatMap { offset, chunk in
            chunk[(offset == 0 ? min(place.index, chunk.count) : 0)...]
        }
    }

    /// All commits that are kept, oldest first.
    package var all: some Sequence<KeptCommit> { commits(after: floor) }

    /// Adds the newest commit and returns what had to be forgotten for it.
    mutating func append(_ commit: KeptCommit, limits: Limits) -> [KeptCommit] {
        if let last = chunks.indices.last, chunks[last].count < Self.chunk {
            chunks[last].append(commit)
        } else {
            var chunk: [KeptCommit] = []
            chunk.reserveCapacity(Self.chunk)
            chunk.append(commit)
            chunks.append(chunk)
        }
        count += 1
        size += commit.size
        guard count > limits.commits || size > limits.bytes else { return [] }
        var dropped: [KeptCommit] = []
        while count > limits.commits || size > limits.bytes, let oldest = dropOldest() { dropped.append(oldest) }
        letGo(beyond: limits.bytes / 16)
        return dropped
    }

    private mutating func dropOldest() -> KeptCommit? {
        guard let chunk = chunks.first, forgotten < chunk.count else { return nil }
        let oldest = chunk[forgotten]
        forgotten += 1
        count -= 1
        size -= oldest.size
        forgottenSize += oldest.size
        floor = oldest.commit.revision
        if forgotten == chunk.count {
            chunks.removeFirst()
            (forgotten, forgottenSize) = (0, 0)
        }
        return oldest
    }

    /// Lets go of what is forgotten if it weighs too much to wait for the rest of its chunk, as few commits do.
    private mutating func letGo(beyond bytes: Int) {
        guard forgottenSize > bytes else { return }
        chunks[0].removeFirst(forgotten)
        (forgotten, forgottenSize) = (0, 0)
    }

    /// Where the first commit after a revision is.
    private func position(after revision: Revision) -> (chunk: Int, index: Int) {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if let last = chunks[middle].last, last.commit.revision > revision {
                high = middle
            } else {
                low = middle + 1
            }
        }
        guard low < chunks.count else { return (low, 0) }
        let index = chunks[low].firstIndex { $0.commit.revision > revision } ?? chunks[low].count
        return (low, low == 0 ? max(index, forgotten) : index)
    }
}
