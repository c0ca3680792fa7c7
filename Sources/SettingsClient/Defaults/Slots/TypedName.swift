internal import SettingsModel

/// The name of a key and the type of its values, to be found by.
struct TypedName: Sendable {
    /// In an array, whose bytes are reached without asking what kind of string it is.
    private let bytes: [UInt8]
    private let type: ObjectIdentifier

    init(_ name: String, _ type: ObjectIdentifier) {
        bytes = Array(name.utf8)
        self.type = type
    }

    func isSame(as name: Span<UInt8>, _ type: ObjectIdentifier) -> Bool {
        self.type == type && bytes.span.hasSameBytes(as: name)
    }

    /// A number that keys of one name and type have in common, and hardly any others.
    static func number(_ name: Span<UInt8>, _ type: ObjectIdentifier) -> UInt {
        let bytes = name.bytes
        var number = UInt(bitPattern: type)
        var position = 0
        while position &+ 8 <= bytes.byteCount {
            mix(bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: UInt64.self), into: &number)
            position &+= 8
        }
        var rest = UInt64(truncatingIfNeeded: bytes.byteCount)
        while position < bytes.byteCount {
            rest = rest << 8 | UInt64(bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: UInt8.self))
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
