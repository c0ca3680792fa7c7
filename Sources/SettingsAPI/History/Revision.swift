public import SettingsModel

/// The number of a commit. Revisions increase over all suites; some numbers are skipped.
public struct Revision: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number, which is not negative.
    public let number: Int64

    /// The revision before the first commit, and the revision of a suite that does not exist.
    public static let zero = Revision(unchecked: 0)

    /// Makes a revision. Returns nil for a negative number.
    public init?(_ number: Int64) {
        guard number >= 0 else { return nil }
        self.number = number
    }

    /// Parses decimal digits without a sign and without leading zeros. Returns nil for any other text.
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

    /// Returns the revision at a distance. Returns nil if the number would be negative or too large.
    package func advanced(by distance: Int64) -> Revision? {
        let (sum, overflow) = number.addingReportingOverflow(distance)
        return overflow ? nil : Revision(sum)
    }

    private init(unchecked number: Int64) {
        self.number = number
    }

    /// True if the first commit was before the second commit.
    public static func < (left: Revision, right: Revision) -> Bool {
        left.number < right.number
    }

    /// The number in decimal digits.
    public var description: String {
        String(number)
    }
}

extension Revision: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        guard let revision = Revision(try Int64(json: json)) else {
            throw BodyError("must be a revision (got a negative integer)")
        }
        self = revision
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(integer: number)
    }
}

/// A suite with a revision of the suite or of its schema.
public struct SuiteRevision: Hashable, Sendable {
    /// The suite.
    public var suite: SuiteName
    /// The revision; zero if there is none.
    public var revision: Revision

    package init(suite: SuiteName, revision: Revision) {
        self.suite = suite
        self.revision = revision
    }
}

extension SuiteRevision: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(suite: try reader.required("suite"), revision: try reader.required("revision"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("revision", revision)
    }

    /// Reads a map from the names of suites to revisions.
    static func map(_ json: JSONValue) throws(BodyError) -> [SuiteRevision] {
        try json.map { member throws(BodyError) in
            SuiteRevision(suite: try SuiteName(json: .string(member.name)), revision: try Revision(json: member.value))
        }
    }
}

extension JSONWriter {
    mutating func member(_ name: StaticString, mapOf list: [SuiteRevision]) {
        self.name(literal: name)
        beginObject()
        for entry in list { member(named: entry.suite.text, entry.revision) }
        endObject()
    }
}

/// The value of the field `ETag`: a revision in quotation marks, such as `"17"`.
///
/// If an answer depends on the grants of the caller or shows pending actions, the tag ends in a digest of the grants
/// and of the actions, such as `"17-0k3f9a2"`. A cache then does not reuse the answer for a caller with other grants,
/// or after a change of the actions.
public struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    /// The revision in the tag.
    public let revision: Revision
    /// The digest of the caller's grants and of the shown pending actions; nil if the answer depends on neither.
    package let digest: String?

    /// Makes the tag of a revision.
    public init(_ revision: Revision) {
        self.init(revision, digest: nil)
    }

    package init(_ revision: Revision, digest: String?) {
        self.revision = revision
        self.digest = digest
    }

    /// Parses a strong tag. Returns nil for any other text.
    package init?(_ text: some StringProtocol) {
        let quote = UInt8(ascii: "\"")
        let bytes = Substring(text).utf8
        guard bytes.count > 2, bytes.first == quote, bytes.last == quote else { return nil }
        let parts = Substring(bytes.dropFirst().dropLast())
            .split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard let revision = Revision(parts[0]) else { return nil }
        let digest = parts.count > 1 ? String(parts[1]) : nil
        // A digest has the characters of an epoch, because cursors append a digest of grants to the epoch.
        if let digest, digest.utf8.count != Epoch.digestLength || Epoch(digest) == nil { return nil }
        self.init(revision, digest: digest)
    }

    /// Parses a strong tag or a weak tag (`W/"17"`). `If-None-Match` accepts both, because a proxy that compresses an
    /// answer makes its tag weak.
    package init?(weakOrStrong text: some StringProtocol) {
        let bytes = Substring(text).utf8
        self.init(Substring(bytes.starts(with: "W/".utf8) ? bytes.dropFirst(2) : bytes))
    }

    /// The tag with its quotation marks.
    public var description: String {
        "\"\(revision)\(digest.map { "-\($0)" } ?? "")\""
    }
}

/// A condition in `If-Match` or `If-None-Match`.
public enum EntityTagPattern: Equatable, Sendable, CustomStringConvertible {
    /// `*`: any revision.
    case any
    /// One tag.
    case tag(EntityTag)

    /// The text form, which parses to the same pattern.
    public var description: String {
        switch self {
        case .any: "*"
        case .tag(let tag): tag.description
        }
    }
}
