internal import SettingsAPI
internal import SettingsModel

/// The commits that were due to be forgotten, and are kept because a suite protects them; in order.
///
/// They go one by one from anywhere among them, as their suites have newer ones, hence the tree.
struct SparedCommits: Sendable {
    private struct Element: Named {
        let name: String
        let commit: KeptCommit

        init(_ commit: KeptCommit) {
            name = Self.name(of: commit.revision)
            self.commit = commit
        }

        /// A text whose bytes are ordered as revisions are, short enough to take no memory of its own.
        static func name(of revision: Revision) -> String {
            var digits = InlineArray<11, UInt8>(repeating: 0)
            for index in digits.indices {
                let shift = 6 * Int64(digits.count - 1 - index)
                digits[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: (revision.number >> shift) & 63)
            }
            do {
                return String(copying: try UTF8Span(validating: digits.span))
            } catch {
                preconditionFailure("letters of ASCII are not UTF-8: \(error)")
            }
        }
    }

    private var tree = OrderedTree<Element>()
    /// About how many bytes of memory they take.
    private(set) var size = 0

    var count: Int { tree.count }

    /// Adds one that is newer than all others.
    mutating func append(_ commit: KeptCommit) {
        guard tree.append(Element(commit)) else {
            preconditionFailure("commit \(commit.revision) is spared after one that is newer")
        }
        size += commit.size
    }

    mutating func remove(_ commit: KeptCommit) {
        if tree.remove(Element.name(of: commit.revision)) != nil { size -= commit.size }
    }

    mutating func popFirst() -> KeptCommit? {
        var first: Element?
        tree.forEach { element in
            first = element
            return false
        }
        guard let first else { return nil }
        tree.remove(first.name)
        size -= first.commit.size
        return first.commit
    }

    /// Those after a revision.
    func after(_ revision: Revision) -> [KeptCommit] {
        guard let next = revision.advanced(by: 1) else { return [] }
        var found: [KeptCommit] = []
        tree.forEach(startingAt: Element.name(of: next)) { element in
            found.append(element.commit)
            return true
        }
        return found
    }
}
