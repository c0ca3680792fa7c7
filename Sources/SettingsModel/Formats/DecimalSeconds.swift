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
