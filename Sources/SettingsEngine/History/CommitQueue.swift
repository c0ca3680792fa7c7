/// Commits in order, added at the end and taken from the front.
///
/// Kept in short arrays of references: a copy costs nothing, and while a reader holds one, the next append or removal
/// copies one short array, at times the list of them. What is taken is let go of at once.
package struct CommitQueue: Sendable {
    private static let chunk = 64

    private var front: [KeptCommit] = []
    /// Arrays of ``chunk`` each, between those at the ends.
    private var full: [[KeptCommit]] = []
    private var back: [KeptCommit] = []

    mutating func append(_ commit: KeptCommit) {
        if back.count == Self.chunk {
            full.append(back)
            back = []
            back.reserveCapacity(Self.chunk)
        }
        back.append(commit)
    }

    mutating func popFirst() -> KeptCommit? {
        if front.isEmpty {
            guard !full.isEmpty else { return back.isEmpty ? nil : back.remove(at: 0) }
            front = full.removeFirst()
        }
        return front.remove(at: 0)
    }
}

extension CommitQueue: RandomAccessCollection {
    package var startIndex: Int { 0 }

    package var endIndex: Int { front.count + full.count * Self.chunk + back.count }

    package subscript(index: Int) -> KeptCommit {
        if index < front.count { return front[index] }
        let (chunk, place) = (index - front.count).quotientAndRemainder(dividingBy: Self.chunk)
        return chunk < full.count ? full[chunk][place] : back[index - front.count - full.count * Self.chunk]
    }
}
