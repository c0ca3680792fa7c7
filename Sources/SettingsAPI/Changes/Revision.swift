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
