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

/// A number of seconds in decimal digits: a whole number, rounded down, and a fraction that is added to it.
///
/// Digits rather than arithmetic, because between a `Double` and its shortest decimal text nothing gets lost, while any
/// calculation with the `Double` would round.
struct DecimalSeconds {
    /// Rounded down, so -0.25 seconds are -1 whole and 75 hundredths.
    let whole: Int
    /// ASCII digits behind the decimal point, the last one no zero.
    let fraction: [UInt8]

    /// Digits of a fraction that can matter to a `Double`: each `Double`, and each midpoint of two neighbours, is a
    /// multiple of 2^-1075 and so has no more than 1075 of them.
    private static let longestFraction = 1_100
    private static let zero = UInt8(ascii: "0")

    /// Fraction digits may be as many as you like; those too far behind to be told apart are summed up in a single one.
    init(whole: Int, fraction digits: some Sequence<UInt8>) {
        var fraction: [UInt8] = []
        var hasMore = false
        for digit in digits {
            if fraction.count < Self.longestFraction {
                fraction.append(digit)
            } else if digit != Self.zero {
                hasMore = true
                break
            }
        }
        if hasMore { fraction.append(UInt8(ascii: "1")) }
        while fraction.last == Self.zero { fraction.removeLast() }
        self.whole = whole
        self.fraction = fraction
    }

    /// The shortest decimal that reads back as `value`; nil if `value` is not finite or too large for an `Int`.
    init?(_ value: Double) {
        let parts = value.magnitude.description.utf8.split(separator: UInt8(ascii: "e"))
        guard value.isFinite, value.magnitude < 0x1p53, let mantissa = parts.first,
            let exponent = parts.count > 1 ? Int(Substring(parts[1])) : 0
        else { return nil }
        let digits = mantissa.filter(ASCII.isDigit)
        let point = mantissa.prefix(while: ASCII.isDigit).count + exponent
        guard let magnitude = point > 0 ? Int(String(decoding: digits.prefix(point), as: UTF8.self)) : 0 else {
            return nil
        }
        let zeros = Array(repeating: Self.zero, count: max(0, -point))
        let positive = DecimalSeconds(whole: magnitude, fraction: zeros + digits.dropFirst(max(0, point)))
        self = value < 0 ? positive.negated : positive
    }

    /// The `Double` nearest to the decimal.
    var value: Double? {
        let isNegative = whole < 0
        let shown = isNegative ? negated : self
        let fraction = shown.fraction.isEmpty ? "0" : String(decoding: shown.fraction, as: UTF8.self)
        return Double("\(isNegative ? "-" : "")\(shown.whole).\(fraction)")
    }

    /// The same distance from zero on the other side.
    private var negated: DecimalSeconds {
        guard let last = fraction.last else { return DecimalSeconds(whole: -whole, fraction: []) }
        let nine = UInt8(ascii: "9")
        let complement = fraction.dropLast().map { nine - $0 + Self.zero } + [nine - last + Self.zero + 1]
        return DecimalSeconds(whole: -whole - 1, fraction: complement)
    }
}
