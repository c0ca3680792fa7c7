/// Validates Base64 (RFC 4648 section 4): standard alphabet, with padding, without line breaks.
package enum Base64Text {
    private static let digits = ByteSet.lettersAndDigits.union("+/")
    /// The digits whose last two bits are zero. One padding character may follow such a digit.
    private static let digitsBeforeOnePadding = ByteSet("AEIMQUYcgkosw048")
    /// The digits whose last four bits are zero. Two padding characters may follow such a digit.
    private static let digitsBeforeTwoPaddings = ByteSet("AQgw")

    /// True if the text is complete and canonical: the unused bits of the last digit are zero.
    package static func isValid(_ text: String) -> Bool {
        var cursor = ByteCursor(text)
        let digits = cursor.consume(while: digits)
        var padding = 0
        while padding < 2, cursor.consume("=") { padding += 1 }
        guard cursor.isAtEnd, (digits.count + padding).isMultiple(of: 4), let last = digits.last else {
            return text.isEmpty
        }
        return padding == 0 || (padding == 1 ? digitsBeforeOnePadding : digitsBeforeTwoPaddings).contains(last)
    }
}

/// A decoder of percent-encoding (RFC 3986).
enum PercentEncoding {
    /// Returns the text with each `%XX` decoded. Returns nil if an escape is incomplete, or if the bytes are not valid
    /// UTF-8.
    static func decoded(_ encoded: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = encoded
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(ASCII.hexadecimalValue),
                    let low = rest.popFirst().flatMap(ASCII.hexadecimalValue)
                else {
                    return nil
                }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
