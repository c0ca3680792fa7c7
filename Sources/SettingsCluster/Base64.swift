/// A codec for padded Base64 (RFC 4648 section 4), in which the JSON gateway of etcd encodes keys and values.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    /// The value of each Base64 digit, indexed by byte; 64 for a byte that is not a digit.
    private static let digitValues: [UInt8] = {
        var digitValues = [UInt8](repeating: 64, count: 256)
        for (value, digit) in alphabet.enumerated() { digitValues[Int(digit)] = UInt8(value) }
        return digitValues
    }()

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let (bytes, alphabet) = (bytes.span, alphabet.span)
        var text = [UInt8](repeating: UInt8(ascii: "="), count: (bytes.count + 2) / 3 * 4)
        var output = text.mutableSpan
        var (index, outputIndex) = (0, 0)
        while index < bytes.count {
            let count = min(3, bytes.count - index)
            var group = Int(bytes[index]) << 16
            if count > 1 { group |= Int(bytes[index + 1]) << 8 }
            if count > 2 { group |= Int(bytes[index + 2]) }
            output[outputIndex] = alphabet[group >> 18]
            output[outputIndex + 1] = alphabet[group >> 12 & 63]
            if count > 1 { output[outputIndex + 2] = alphabet[group >> 6 & 63] }
            if count > 2 { output[outputIndex + 3] = alphabet[group & 63] }
            (index, outputIndex) = (index + 3, outputIndex + 4)
        }
        return text
    }

    /// Returns the decoded bytes; nil if the text is not a result of ``encode(_:)``.
    static func decode(_ text: String) -> [UInt8]? {
        let (digits, digitValues) = (text.utf8Span.span, digitValues.span)
        guard digits.count % 4 == 0 else { return nil }
        guard !digits.isEmpty else { return [] }
        let padding = UInt8(ascii: "=")
        let paddingCount = digits[digits.count - 1] != padding ? 0 : digits[digits.count - 2] != padding ? 1 : 2
        var bytes = [UInt8](repeating: 0, count: digits.count / 4 * 3)
        var output = bytes.mutableSpan
        var (index, outputIndex) = (0, 0)
        while index < digits.count {
            var group = 0
            for digit in 0..<4 where index + digit < digits.count - paddingCount {
                let value = Int(digitValues[Int(digits[index + digit])])
                guard value < 64 else { return nil }
                group |= value << (18 - 6 * digit)
            }
            output[outputIndex] = UInt8(truncatingIfNeeded: group >> 16)
            output[outputIndex + 1] = UInt8(truncatingIfNeeded: group >> 8)
            output[outputIndex + 2] = UInt8(truncatingIfNeeded: group)
            (index, outputIndex) = (index + 4, outputIndex + 3)
        }
        // In the text of ``encode(_:)``, the bits of the last digit that encode no byte are zero.
        guard bytes.suffix(paddingCount).allSatisfy({ $0 == 0 }) else { return nil }
        bytes.removeLast(paddingCount)
        return bytes
    }
}
