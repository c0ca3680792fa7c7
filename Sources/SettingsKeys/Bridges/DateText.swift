internal import SettingsModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Converts a `Date` to text and back without a loss.
///
/// A `Date` is a `Double` of seconds since 2001-01-01T00:00:00Z. The text is RFC 3339 in UTC with the shortest fraction
/// from which the same `Double` can be read. RFC 3339 allows only the years 0000 to 9999. The text of any other date
/// contains the number of seconds since 2001, for example `2001-01-01T00:00:00Z+1e+300s`.
enum DateText {
    /// The ECMA-262 pattern of the texts for dates outside the years 0000 to 9999.
    static let extendedPattern = #"^2001-01-01T00:00:00Z[+-][0-9]{1,17}(\.[0-9]{1,17})?(e\+[0-9]{1,3})?s$"#

    private static let extendedPrefix = "2001-01-01T00:00:00Z"
    private static let secondsPerDay = 86_400
    /// The years 0000 to 9999 in seconds since 2001. From 0000-01-01 to 2001-01-01 there are 730,851 days. 400 years
    /// have 146,097 days.
    private static let fourDigitYears: Range<Double> = (-730_851 * 86_400.0)..<((25 * 146_097 - 730_851) * 86_400.0)

    /// Returns the text of a date; nil if the date is not finite.
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

    /// Parses a `date-time` of RFC 3339, or an extended text of `text(for:)`. Rounds to the nearest `Date`. A leap
    /// second counts as the next second.
    static func date(from text: String) -> Date? {
        let seconds =
            if let timestamp = DateTimeSyntax(text) {
                DecimalSeconds(whole: timestamp.secondsSince2001, fraction: timestamp.time.fraction).value
            } else {
                extendedSeconds(text)
            }
        return seconds.map(Date.init(timeIntervalSinceReferenceDate:))
    }

    /// Parses a text that matches `extendedPattern`. Returns nil for other text, and for a number that is too large for
    /// a `Double`.
    private static func extendedSeconds(_ text: String) -> Double? {
        guard text.hasBytePrefix(extendedPrefix) else { return nil }
        var cursor = ByteCursor(Array(text.utf8).dropFirst(extendedPrefix.utf8.count))
        let isNegative = cursor.consume("-")
        guard isNegative || cursor.consume("+") else { return nil }
        let number = cursor.rest.dropLast()
        guard 1...17 ~= cursor.consume(while: .digits).count else { return nil }
        if cursor.consume(".") {
            guard 1...17 ~= cursor.consume(while: .digits).count else { return nil }
        }
        if cursor.consume("e") {
            guard cursor.consume("+"), 1...3 ~= cursor.consume(while: .digits).count else { return nil }
        }
        guard cursor.consume("s"), cursor.isAtEnd, let seconds = Double(String(decoding: number, as: UTF8.self)),
            seconds.isFinite
        else { return nil }
        return isNegative ? -seconds : seconds
    }

    private static func padded(_ number: Int, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

/// A number of seconds as decimal digits, because calculations with a `Double` would round.
struct DecimalSeconds {
    /// The number rounded down. For -0.25 seconds this is -1, and the fraction is 75 hundredths.
    let whole: Int
    /// The ASCII digits of the fraction, which is added to `whole`. The last digit is not zero.
    let fraction: [UInt8]

    /// More fraction digits than can affect the nearest `Double`. Each `Double`, and each midpoint between two
    /// neighbouring values, is a multiple of 2^-1075, so it has at most 1075 fraction digits.
    private static let longestFraction = 1_100
    private static let zero = UInt8(ascii: "0")

    /// Creates a number with any number of fraction digits. If a digit after the first 1,100 digits is not zero, a
    /// single digit 1 replaces all of them, because only their presence affects the rounding.
    init(whole: Int, fraction digits: ArraySlice<UInt8>) {
        var fraction = Array(digits.prefix(Self.longestFraction))
        if digits.dropFirst(Self.longestFraction).contains(where: { $0 != Self.zero }) {
            fraction.append(UInt8(ascii: "1"))
        }
        while fraction.last == Self.zero { fraction.removeLast() }
        self.whole = whole
        self.fraction = fraction
    }

    /// Creates the shortest decimal number from which `value` can be read. Returns nil if the value is not finite or is
    /// too large.
    init?(_ value: Double) {
        guard value.magnitude < 0x1p53, let decimal = DecimalDigits(.double(value)) else { return nil }
        // The last digits of the text are the fraction.
        let fractionDigits = max(0, -decimal.exponent)
        let digits = Array(String(decimal.digits).utf8)
        let text = [UInt8](repeating: Self.zero, count: max(0, fractionDigits + 1 - digits.count)) + digits
        let whole = text.dropLast(fractionDigits).reduce(0) { $0 * 10 + Int($1 - Self.zero) }
        let positive = DecimalSeconds(whole: whole, fraction: text.suffix(fractionDigits))
        self = value < 0 ? positive.negated : positive
    }

    /// The nearest `Double`.
    var value: Double? {
        let isNegative = whole < 0
        let magnitude = isNegative ? negated : self
        let fraction = magnitude.fraction.isEmpty ? "0" : String(decoding: magnitude.fraction, as: UTF8.self)
        return Double("\(isNegative ? "-" : "")\(magnitude.whole).\(fraction)")
    }

    /// The number with the other sign. Because `whole` is rounded down, 1.25 becomes -2 plus 0.75.
    private var negated: DecimalSeconds {
        guard let last = fraction.last else { return DecimalSeconds(whole: -whole, fraction: []) }
        let nine = UInt8(ascii: "9")
        let complement = fraction.dropLast().map { nine - $0 + Self.zero } + [nine - last + Self.zero + 1]
        return DecimalSeconds(whole: -whole - 1, fraction: complement[...])
    }
}
