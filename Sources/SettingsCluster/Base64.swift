/// A codec for Base64 (RFC 4648 section 4), padded, as etcd's gateway has keys and values.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    /// The value of each digit; 64 for bytes that are none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 64, count: 256)
        for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let (bytes, alphabet) = (bytes.span, alphabet.span)
        var text = [UInt8](repeating: UInt8(ascii: "="), count: (bytes.count + 2) / 3 * 4)
        var output = text.mutableSpan
        var (index, place) = (0, 0)
        while index < bytes.count {
            let count = min(3, bytes.count - index)
            var group = Int(bytes[index]) << 16
            if count > 1 { group |= Int(bytes[index + 1]) << 8 }
            if count > 2 { group |= Int(bytes[index + 2]) }
            output[place] = alphabet[group >> 18]
            output[place + 1] = alphabet[group >> 12 & 63]
            if count > 1 { output[place + 2] = alphabet[group >> 6 & 63] }
            if count > 2 { output[place + 3] = alphabet[group & 63] }
            (index, place) = (index + 3, place + 4)
        }
        return text
    }

    /// Returns the bytes; nil if the text is not complete and canonical.
    static func decode(_ text: String) -> [UInt8]? {
        let (digits, values) = (text.utf8Span.span, values.span)
        guard digits.count % 4 == 0 else { return nil }
        guard !digits.isEmpty else { return [] }
        let padding = UInt8(ascii: "=")
        let missing = digits[digits.count - 1] != padding ? 0 : digits[digits.count - 2] != padding ? 1 : 2
        var bytes = [UInt8](repeating: 0, count: digits.count / 4 * 3)
        var output = bytes.mutableSpan
        var (index, place) = (0, 0)
        while index < digits.count {
            var group = 0
            for digit in 0..<4 where index + digit < digits.count - missing {
                let value = Int(values[Int(digits[index + digit])])
                guard value < 64 else { return nil }
                group |= value << (18 - 6 * digit)
            }
            output[place] = UInt8(truncatingIfNeeded: group >> 16)
            output[place + 1] = UInt8(truncatingIfNeeded: group >> 8)
            output[place + 2] = UInt8(truncatingIfNeeded: group)
            (index, place) = (index + 4, place + 3)
        }
        // Canonical: the unused bits are zero.
        guard bytes.suffix(missing).allSatisfy({ $0 == 0 }) else { return nil }
        bytes.removeLast(missing)
        return bytes
    }
}
