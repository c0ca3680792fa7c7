internal import SettingsModel

/// The tags of an `If-Match` or `If-None-Match`.
enum TagList: Hashable {
    /// `*`.
    case any
    /// These; tags that nobody here made are left out, since they match nothing.
    case tags([Revision])

    /// Reads the value of a field, a list of quoted tags or `*`. Empty elements of the list are passed over, but one tag
    /// there must be: without any, a guard would say nothing.
    ///
    /// - Parameter comparesWeakly: whether a weak tag is as good as a strong one, as in `If-None-Match`. Where it is not,
    ///   it matches nothing.
    init(_ text: String, in field: String, comparesWeakly: Bool) throws(Problem) {
        let bytes = Array(text.utf8)
        var tags: [Revision] = []
        var position = 0
        func skipSpace() {
            while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
        }
        if text == "*" {
            self = .any
            return
        }
        var count = 0
        // Whether a comma must come before the next tag.
        var isAfterTag = false
        while true {
            skipSpace()
            if position == bytes.count { break }
            if bytes[position] == UInt8(ascii: ",") {
                position += 1
                isAfterTag = false
                continue
            }
            let start = position
            let isWeak =
                position + 1 < bytes.count && bytes[position] == UInt8(ascii: "W")
                && bytes[position + 1] == UInt8(ascii: "/")
            if isWeak { position += 2 }
            guard !isAfterTag, position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
                throw Self.malformed(text, field)
            }
            position += 1
            while position < bytes.count, bytes[position] != UInt8(ascii: "\"") { position += 1 }
            guard position < bytes.count else { throw Self.malformed(text, field) }
            position += 1
            let tag = String(decoding: bytes[start..<position], as: UTF8.self)
            let read = comparesWeakly ? EntityTag(weakOrStrong: tag) : EntityTag(tag)
            if let read { tags.append(read.revision) }
            count += 1
            isAfterTag = true
        }
        guard count > 0 else { throw Self.malformed(text, field) }
        self = .tags(tags)
    }

    private static func malformed(_ text: String, _ field: String) -> Problem {
        let hint = Revision(text) != nil ? "; write \(field): \"\(text)\", with the quotation marks" : ""
        return Problem(.badRequest, "\(field) must be * or a tag such as \"17\", but is \(text)\(hint)")
    }

    /// Whether a thing of this revision is meant.
    func matches(_ revision: Revision) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains(revision)
        }
    }
}

extension WriteRequest.Guard {
    /// What `If-Match` demands of a write.
    init(ifMatch tags: TagList) {
        switch tags {
        case .any: self = .exists
        case .tags(let tags): self = .isAt(tags)
        }
    }

    /// What `If-None-Match` demands of a write.
    init(ifNoneMatch tags: TagList) {
        switch tags {
        case .any: self = .isAbsent
        case .tags(let tags): self = .isNotAt(tags)
        }
    }

    /// What the guard demands, the same for all spellings of it.
    var meaning: String {
        switch self {
        case .isAt(let revisions): "at \(Set(revisions).sorted())"
        case .isNotAt(let revisions): "not at \(Set(revisions).sorted())"
        case .exists: "exists"
        case .isAbsent: "is absent"
        }
    }

    /// Refuses to show a thing that the guard, an `If-Match` of a read, does not hold of.
    ///
    /// - Parameter current: the thing as it is, for the caller whose tag is not that of it.
    func check(_ what: String, at revision: Revision, current: @autoclosure () -> Problem.Current) throws(Problem) {
        guard !holds(revision: revision, exists: true) else { return }
        var problem = Problem(.preconditionFailed, detail(what, revision: revision, exists: true))
        problem.current = current()
        throw problem
    }
}
