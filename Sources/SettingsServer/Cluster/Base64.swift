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
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let count = min(3, bytes.count - index)
            var group = UInt32(bytes[index]) << 16
            if count > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if count > 2 { group |= UInt32(bytes[index + 2]) }
            for digit in 0..<4 {
                let value = Int(group >> UInt32(18 - 6 * digit)) & 63
                text.append(digit <= count ? alphabet[value] : UInt8(ascii: "="))
            }
            index += 3
        }
        return text
    }

    /// Returns the bytes; nil if the text is not complete and canonical.
    static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 4 * 3)
        var (group, digits, padding) = (UInt32(0), 0, 0)
        for byte in text.utf8 {
            let value = values[Int(byte)]
            if byte == UInt8(ascii: "="), digits >= 2 {
                padding += 1
            } else if value == 64 || padding > 0 {
                return nil
            }
            group = group << 6 | UInt32(value & 63)
            digits += 1
            guard digits == 4 else { continue }
            let unused: UInt32 = padding == 0 ? 0 : padding == 1 ? 0xFF : 0xFFFF
            guard padding <= 2, group & unused == 0 else { return nil }
            for place in 0..<(3 - padding) { bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(16 - 8 * place))) }
            (group, digits) = (0, 0)
        }
        return digits == 0 ? bytes : nil
    }
}
