/// A revision as HTTP compares it: the number in quotation marks, as `"17"`.
public struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// The revision that the tag names.
    public let revision: Revision

    /// The tag of a revision.
    public init(_ revision: Revision) {
        self.revision = revision
    }

    /// Reads a strong tag of this daemon's making; nil for any other, which then matches nothing.
    public init?(_ text: some StringProtocol) {
        let quote = UInt8(ascii: "\"")
        let bytes = Substring(text).utf8
        guard bytes.count > 2, bytes.first == quote, bytes.last == quote,
            let revision = Revision(Substring(bytes.dropFirst().dropLast()))
        else { return nil }
        self.revision = revision
    }

    /// Reads a tag where a weak one (`W/"17"`) is as good: in `If-None-Match`, since proxies that compress weaken tags.
    public init?(weakOrStrong text: some StringProtocol) {
        let bytes = Substring(text).utf8
        self.init(Substring(bytes.starts(with: "W/".utf8) ? bytes.dropFirst(2) : bytes))
    }

    /// The tag with its quotation marks.
    public var description: String {
        "\"\(revision)\""
    }
}

/// What one `If-Match` or `If-None-Match` names.
public enum EntityTagPattern: Hashable, Sendable, CustomStringConvertible {
    /// `*`: whatever is there.
    case any
    /// One tag.
    case tag(EntityTag)

    /// Reads `*` or one strong tag; nil for anything else.
    public init?(_ text: some StringProtocol) {
        if text == "*" {
            self = .any
        } else if let tag = EntityTag(text) {
            self = .tag(tag)
        } else {
            return nil
        }
    }

    /// The text that reads back as this.
    public var description: String {
        switch self {
        case .any: "*"
        case .tag(let tag): tag.description
        }
    }
}
