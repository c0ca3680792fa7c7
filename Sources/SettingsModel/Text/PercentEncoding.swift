/// Percent-encoding of RFC 3986.
enum PercentEncoding {
    /// The text with each `%XX` taken as the byte it names; nil if one is cut short or the bytes are no UTF-8.
    static func decoded(_ encoded: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = encoded[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(HexadecimalDigit.value),
                    let low = rest.popFirst().flatMap(HexadecimalDigit.value)
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
