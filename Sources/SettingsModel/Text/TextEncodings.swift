/// A checker for Base64 (RFC 4648 section 4): the plain alphabet, padded, nothing between.
enum Base64Text {
    /// True if the text is complete and canonical: the unused bits of the last group are zero.
    static func isValid(_ text: String) -> Bool {
        let bytes = text.utf8Span.span
        guard bytes.count.isMultiple(of: 4) else { return false }
        var digits = bytes.count
        while digits > 0, bytes.count - digits < 2, bytes[digits - 1] == UInt8(ascii: "=") { digits -= 1 }
        var index = 0
        var last: UInt8 = 0
        while index < digits {
            guard let value = value(of: bytes[index]) else { return false }
            last = value
            index += 1
        }
        switch bytes.count - digits {
        case 1: return last & 0b11 == 0
        case 2: return last & 0b1111 == 0
        default: return true
        }
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

/// The character classes of ASCII. Bytes from 0x80 belong to none.
enum ASCII {
    static func isDigit(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte
    }

    static func isLetter(_ byte: UInt8) -> Bool {
        0x61...0x7A ~= lowercased(byte)
    }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte)
    }

    static func isHexDigit(_ byte: UInt8) -> Bool {
        hexadecimalValue(of: byte) != nil
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        0x41...0x5A ~= byte ? byte + 0x20 : byte
    }

    /// Returns the value of a hexadecimal digit of either case; nil for any other byte.
    static func hexadecimalValue(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns the lower-case hexadecimal digit for a value below 16.
    static func hexadecimalDigit(for value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

/// Percent-encoding of RFC 3986.
enum PercentEncoding {
    /// Returns the text with each `%XX` decoded; nil if one is cut short or the bytes are no UTF-8.
    static func decoded(_ encoded: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = encoded[...]
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
