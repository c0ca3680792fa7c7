internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The entity tags in an `If-Match` or `If-None-Match` field. The entity tag of a setting, suite or schema is its
/// revision (the number of the commit that last changed it), possibly with a digest of the grants of the caller and of
/// pending actions.
enum TagList: Hashable {
    /// The field is `*`, which matches every tag.
    case any
    /// The field lists tags. Tags in a form that this daemon never generates are left out, because they match nothing.
    case tags([EntityTag])

    /// Parses `*` or a list of quoted tags. Empty list elements are ignored, but a list without any tag is refused.
    ///
    /// - Parameter comparesWeakly: true if a weak tag such as `W/"17"` counts as `"17"`; false if it matches nothing.
    init(_ text: String, in field: String, comparesWeakly: Bool) throws(Problem) {
        let bytes = Array(text.utf8)
        var tags: [EntityTag] = []
        var position = 0
        func skipSpace() {
            while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
        }
        if text == "*" {
            self = .any
            return
        }
        var count = 0
        var needsComma = false
        while true {
            skipSpace()
            if position == bytes.count { break }
            if bytes[position] == UInt8(ascii: ",") {
                position += 1
                needsComma = false
                continue
            }
            let start = position
            let isWeak =
                position + 1 < bytes.count && bytes[position] == UInt8(ascii: "W")
                && bytes[position + 1] == UInt8(ascii: "/")
            if isWeak { position += 2 }
            guard !needsComma, position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                throw Self.malformed(text, field)
            }
            position += 1
            while position < bytes.count, bytes[position] != UInt8(ascii: "\"") { position += 1 }
            guard position < bytes.count else { throw Self.malformed(text, field) }
            position += 1
            let tag = String(decoding: bytes[start..<position], as: UTF8.self)
            let parsed = comparesWeakly ? EntityTag(weakOrStrong: tag) : EntityTag(tag)
            if let parsed { tags.append(parsed) }
            count += 1
            needsComma = true
        }
        guard count > 0 else { throw Self.malformed(text, field) }
        self = .tags(tags)
    }

    private static func malformed(_ text: String, _ field: String) -> Problem {
        // A number is probably the revision in a tag whose quotation marks are missing.
        let hint = Revision(text) != nil ? "; write \(field): \"\(text)\", with the quotation marks" : ""
        return Problem(.badRequest, "\(field): must be * or a tag such as \"17\" (got \(text))\(hint)")
    }

    func matches(_ tag: EntityTag) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains(tag)
        }
    }
}

/// A guard is a precondition on the revision of a setting, suite or schema. It ignores the digests in entity tags.
extension WriteGuard {
    init(ifMatch tags: TagList) {
        switch tags {
        case .any: self = .exists
        case .tags(let tags): self = .isAt(tags.map(\.revision))
        }
    }

    init(ifNoneMatch tags: TagList) {
        switch tags {
        case .any: self = .isAbsent
        case .tags(let tags): self = .isNotAt(tags.map(\.revision))
        }
    }

    /// The guard as text: equal for fields that differ only in order, spaces or repeated tags. The text must not
    /// change: commits store digests that depend on it, to recognize a request that is sent again.
    var canonicalText: String {
        switch self {
        case .isAt(let revisions): "at \(Set(revisions).sorted())"
        case .isNotAt(let revisions): "not at \(Set(revisions).sorted())"
        case .exists: "exists"
        case .isAbsent: "is absent"
        }
    }

    /// Throws 412 with the current state of the object `name` if the guard, the `If-Match` of a read, does not hold for
    /// the object.
    func check(
        _ name: String, revision: Revision, currentState current: @autoclosure () -> Problem.Current
    ) throws(Problem) {
        guard !holds(revision: revision, exists: true) else { return }
        var problem = Problem(.preconditionFailed, detail(name, revision: revision, exists: true))
        problem.current = current()
        throw problem
    }

    /// Throws 412 if the guard, which is the `If-Match` of a read, does not hold for a suite that exists.
    func check(suite: SuiteName, revision: Revision) throws(Problem) {
        try check(
            "suite \(suite)", revision: revision, currentState: .suite(SuiteRevision(suite: suite, revision: revision)))
    }
}
