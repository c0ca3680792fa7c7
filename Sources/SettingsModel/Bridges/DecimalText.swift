#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// Decimals from their digits, all or nothing.
enum DecimalText {
    /// The decimal that these digits are, exactly; nil if they are none or more than a decimal holds, which
    /// `Decimal(string:)` would read in part or round.
    static func decimal(from text: String) -> Decimal? {
        guard let written = normalized(text), let value = Decimal(string: text), value.isFinite,
            normalized(value.description) == written
        else { return nil }
        return value
    }

    /// The sign and digits without zeros that mean nothing; nil for anything else than digits with a fraction.
    private static func normalized(_ text: String) -> String? {
        var digits = text.utf8[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        let parts = digits.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        for part in parts where part.isEmpty || !part.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) {
            return nil
        }
        guard let whole = parts.first?.drop(while: { $0 == UInt8(ascii: "0") }) else { return nil }
        var fraction = parts.count > 1 ? parts[1] : Substring().utf8
        while fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
        let isZero = whole.isEmpty && fraction.isEmpty
        let sign = isNegative && !isZero ? "-" : ""
        return sign + String(decoding: whole, as: UTF8.self) + "." + String(decoding: fraction, as: UTF8.self)
    }
}
