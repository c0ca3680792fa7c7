/// IPv4 addresses in dotted decimal.
enum IPv4Syntax {
    /// Four decimal numbers up to 255 without leading zeros, the `IPv4address` of RFC 3986 and the `dotted-quad` of
    /// RFC 2673.
    ///
    /// RFC 5321 allows leading zeros up to three digits; elsewhere they are refused, as many programs take such a
    /// number for octal.
    static func accepts(_ bytes: Substring.UTF8View, allowingLeadingZeros: Bool = false) -> Bool {
        var cursor = ByteCursor(bytes)
        for position in 0..<4 {
            if position > 0, !cursor.take(".") { return false }
            let digits = cursor.take(while: ASCII.isDigit)
            guard isOctet(digits, allowingLeadingZeros: allowingLeadingZeros) else { return false }
        }
        return cursor.isAtEnd
    }

    private static func isOctet(_ digits: Substring.UTF8View, allowingLeadingZeros: Bool) -> Bool {
        guard let first = digits.first, digits.count <= 3 else { return false }
        guard allowingLeadingZeros || first != UInt8(ascii: "0") || digits.count == 1 else { return false }
        return digits.reduce(0) { $0 * 10 + Int($1) - 0x30 } <= 255
    }
}
