internal import SettingsModel

/// Numbers that stand for names of keys and types of values.
enum NameNumber {
    /// A number that keys of one name and type have in common, and hardly any others.
    static func of(_ name: String, _ type: ObjectIdentifier) -> UInt {
        var number = UInt(bitPattern: type)
        let bytes = name.utf8Span.span.bytes
        var position = 0
        while position &+ 8 <= bytes.byteCount {
            mix(bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self), into: &number)
            position &+= 8
        }
        var rest = UInt64(truncatingIfNeeded: bytes.byteCount)
        while position < bytes.byteCount {
            rest = rest << 8 | UInt64(bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt8.self))
            position &+= 1
        }
        mix(rest, into: &number)
        return number
    }

    private static func mix(_ word: UInt64, into number: inout UInt) {
        number = (number ^ UInt(truncatingIfNeeded: word)) &* 0x9E37_79B9_7F4A_7C15
        number ^= number >> 32
    }
}
