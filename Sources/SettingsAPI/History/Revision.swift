public import SettingsModel

/// The number of a commit: it grows with each, over all suites.
///
/// Numbers may be skipped, so the next one is known to nobody but the daemon.
public struct Revision: Hashable, Sendable {
    /// The number, never negative.
    public let number: Int64

    /// Before any commit: the revision of a suite that does not exist.
    public static let zero = Revision(unchecked: 0)

    /// The revision of this number; nil if it is negative.
    public init?(_ number: Int64) {
        guard number >= 0 else { return nil }
        self.number = number
    }

    /// Reads decimal digits without sign and superfluous zeros; nil if the text is anything else or too large.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        self.init(utf8: text.utf8Span.span)
    }

    init?(utf8 digits: Span<UInt8>) {
        guard !digits.isEmpty, digits[0] != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        var number: Int64 = 0
        for index in 0..<digits.count {
            let digit = digits[index] &- UInt8(ascii: "0")
            let (tens, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = tens.addingReportingOverflow(Int64(digit))
            guard digit < 10, !overflows, !exceeds else { return nil }
            number = sum
        }
        self.number = number
    }

    /// The revision so many further; nil beyond the last that there can be, or before the first.
    public func advanced(by distance: Int64) -> Revision? {
        let (sum, overflow) = number.addingReportingOverflow(distance)
        return overflow ? nil : Revision(sum)
    }

    private init(unchecked number: Int64) {
        self.number = number
    }
}

extension Revision: Comparable, CustomStringConvertible {
    /// Whether the one commit came before the other.
    public static func < (left: Revision, right: Revision) -> Bool {
        left.number < right.number
    }

    /// The number in decimal digits.
    public var description: String {
        String(number)
    }
}

extension Revision: JSONReadable, JSONWritable {
    /// Reads an integer that is not negative.
    public init(json: JSONValue) throws(BodyError) {
        guard let revision = Revision(try BodyValue.integer(json)) else {
            throw BodyError("expected a revision, found a negative integer")
        }
        self = revision
    }

    /// Writes the number as an integer.
    public func write(to writer: inout JSONWriter) {
        writer.write(integer: number)
    }
}

/// A suite and a revision of it or of its schema.
public struct SuiteRevision: Hashable, Sendable {
    /// The suite.
    public var suite: SuiteName
    /// The revision; zero if there is nothing to have one.
    public var revision: Revision

    /// A suite with a revision.
    public init(suite: SuiteName, revision: Revision) {
        self.suite = suite
        self.revision = revision
    }
}

extension SuiteRevision: JSONReadable, JSONWritable {
    /// Reads the two members.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(suite: try reader.required("suite"), revision: try reader.required("revision"))
    }

    /// Writes the two members.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("suite", suite)
        writer.member("revision", revision)
        writer.endObject()
    }

    /// Reads a map from suites to revisions.
    static func map(_ json: JSONValue) throws(BodyError) -> [SuiteRevision] {
        try BodyValue.map(json) { member throws(BodyError) in
            SuiteRevision(suite: try SuiteName(json: .string(member.name)), revision: try Revision(json: member.value))
        }
    }
}

extension JSONWriter {
    /// A map from suites to revisions.
    mutating func member(_ name: String, mapOf list: [SuiteRevision]) {
        self.name(name)
        beginObject()
        for entry in list { member(entry.suite.text, entry.revision) }
        endObject()
    }
}

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
