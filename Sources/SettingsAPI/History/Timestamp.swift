package import SettingsModel

/// A time in UTC with a resolution of milliseconds, in the years 0 to 9999.
///
/// The text form has a fixed length and always three digits of fraction, so that texts sort in the order of the times.
public struct Timestamp: Hashable, Sendable {
    /// The milliseconds since the beginning of 1970 without leap seconds.
    public let milliseconds: Int64

    static let daysFrom1970To2001 = 11_323
    /// The milliseconds of the years 0 to 9999.
    private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// Makes a time. Clamps it to the years 0 to 9999, so that the text form of any clock value can be parsed.
    ///
    /// - Parameter milliseconds: the milliseconds since the beginning of 1970.
    public init(milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound)
    }

    /// Parses the form `2026-11-20T10:00:00.123Z`. Returns nil for any other text and for dates that do not exist.
    package init?(_ text: String) {
        let bytes = text.utf8Span.span
        let template: StaticString = "0000-00-00T00:00:00.000Z"
        guard bytes.count == template.utf8CodeUnitCount else { return nil }
        let matches = template.withUTF8Buffer { form in
            form.indices.allSatisfy { index in
                form[index] == UInt8(ascii: "0") ? bytes[index] &- UInt8(ascii: "0") < 10 : bytes[index] == form[index]
            }
        }
        guard matches else { return nil }
        func number(_ digits: Range<Int>) -> Int {
            digits.reduce(0) { $0 * 10 + Int(bytes[$1] - UInt8(ascii: "0")) }
        }
        let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
        guard let date = CivilDate(year: number(0..<4), month: number(5..<7), day: number(8..<10)), hour < 24,
            minute < 60, second < 60
        else { return nil }
        let days = date.daysSince2001 + Self.daysFrom1970To2001
        milliseconds = Int64((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + number(20..<23))
    }

    /// The text form in quotation marks.
    private var quoted: InlineArray<26, UInt8> {
        let (days, milliseconds) = Int(milliseconds).flooringDivision(by: 86_400_000)
        let date = CivilDate(daysSince2001: days - Self.daysFrom1970To2001)
        let millisecondOfDay = UInt32(truncatingIfNeeded: milliseconds)
        var text = InlineArray<26, UInt8>(repeating: UInt8(ascii: "\""))
        text.put(date.year / 100, at: 1)
        text.put(date.year % 100, at: 3, "-")
        text.put(date.month, at: 6, "-")
        text.put(date.day, at: 9, "T")
        text.put(millisecondOfDay / 3_600_000, at: 12, ":")
        text.put(millisecondOfDay / 60_000 % 60, at: 15, ":")
        text.put(millisecondOfDay / 1000 % 60, at: 18, ".")
        text.put(millisecondOfDay % 1000 / 10, at: 21)
        text[23] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: millisecondOfDay % 10)
        text[24] = UInt8(ascii: "Z")
        return text
    }
}

extension InlineArray<26, UInt8> {
    /// Stores two digits and the character after them.
    @inline(__always)
    fileprivate mutating func put(_ number: some BinaryInteger, at index: Int, _ separator: Unicode.Scalar? = nil) {
        let (tens, ones) = UInt8(truncatingIfNeeded: number).quotientAndRemainder(dividingBy: 10)
        self[index] = UInt8(ascii: "0") + tens
        self[index + 1] = UInt8(ascii: "0") + ones
        if let separator { self[index + 2] = UInt8(ascii: separator) }
    }
}

extension Timestamp: Comparable, CustomStringConvertible {
    /// True if the first time is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The text form, such as `2026-11-20T10:00:00.123Z`.
    public var description: String {
        let quoted = quoted
        return String(copying: UTF8Span(unchecked: quoted.span.extracting(1..<25)))
    }
}

extension Timestamp: JSONText {
    package static let expectedText = "a time such as 2026-11-20T10:00:00.123Z"

    /// Writes the text form without making a string.
    package func write(to writer: inout JSONWriter) {
        let quoted = quoted
        writer.write(rendered: quoted.span)
    }
}
