#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The text that stands for an instant in JSON and reads back as the very same `Date`.
///
/// A `Date` is a `Double` of seconds since 2001-01-01T00:00:00Z. The text is RFC 3339 in UTC with the shortest
/// fraction that leads back to that `Double`, so an instant on a whole second has none. RFC 3339 ends at the years
/// 0000 and 9999; an instant beyond is written as its distance from 2001, such as `2001-01-01T00:00:00Z+1e+300s`.
enum InstantText {
    /// What the texts outside the years 0000 to 9999 look like, as an ECMA-262 regular expression.
    static let extendedPattern = #"^2001-01-01T00:00:00Z[+-][0-9]{1,17}(\.[0-9]{1,17})?(e\+[0-9]{1,3})?s$"#

    private static let extendedPrefix = "2001-01-01T00:00:00Z"
    private static let secondsPerDay = 86_400
    /// The years 0000 to 9999, 146097 days being 400 years.
    private static let fourDigitYears: Range<Double> = (-730_851 * 86_400.0)..<((25 * 146_097 - 730_851) * 86_400.0)

    /// Nil if the distance of `date` from 2001 is infinite or not a number.
    static func text(for date: Date) -> String? {
        let seconds = date.timeIntervalSinceReferenceDate
        guard seconds.isFinite else { return nil }
        guard fourDigitYears.contains(seconds), let decimal = DecimalSeconds(seconds) else {
            return "\(extendedPrefix)\(seconds < 0 ? "-" : "+")\(seconds.magnitude)s"
        }
        let (day, secondOfDay) = decimal.whole.flooringDivision(by: secondsPerDay)
        let date = CivilDate(daysSince2001: day)
        let clock = [secondOfDay / 3_600, secondOfDay / 60 % 60, secondOfDay % 60]
        let fraction = decimal.fraction.isEmpty ? "" : "." + String(decoding: decimal.fraction, as: UTF8.self)
        return "\(padded(date.year, to: 4))-\(padded(date.month, to: 2))-\(padded(date.day, to: 2))T"
            + clock.map { padded($0, to: 2) }.joined(separator: ":") + fraction + "Z"
    }

    /// The instant that `text` names, nil if it names none.
    ///
    /// Besides what `text(for:)` writes, any `date-time` of RFC 3339 will do: with an offset, with lower-case
    /// letters, or in a leap second, which counts as the second after it. However many digits a fraction has, the
    /// result is the `Date` nearest to it.
    static func date(from text: String) -> Date? {
        let bytes = text[...].utf8
        let seconds =
            if let timestamp = DateTimeSyntax(bytes) {
                DecimalSeconds(whole: timestamp.secondsSince2001, fraction: timestamp.time.fraction).value
            } else {
                extendedSeconds(bytes)
            }
        return seconds.map(Date.init(timeIntervalSinceReferenceDate:))
    }

    /// Reads what `extendedPattern` describes, nil also if the number is too large for a `Double`.
    private static func extendedSeconds(_ bytes: Substring.UTF8View) -> Double? {
        guard bytes.starts(with: extendedPrefix.utf8) else { return nil }
        var cursor = ByteCursor(bytes.dropFirst(extendedPrefix.utf8.count))
        let isNegative = cursor.take("-")
        guard isNegative || cursor.take("+") else { return nil }
        let number = cursor.rest.dropLast()
        guard 1...17 ~= cursor.take(while: ASCII.isDigit).count else { return nil }
        if cursor.take(".") {
            guard 1...17 ~= cursor.take(while: ASCII.isDigit).count else { return nil }
        }
        if cursor.take("e") {
            guard cursor.take("+"), 1...3 ~= cursor.take(while: ASCII.isDigit).count else { return nil }
        }
        guard cursor.take("s"), cursor.isAtEnd, let seconds = Double(Substring(number)), seconds.isFinite else {
            return nil
        }
        return isNegative ? -seconds : seconds
    }

    private static func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
