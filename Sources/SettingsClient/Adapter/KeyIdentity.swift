public import SettingsModel

/// What makes two keys one, whatever their defaults: name, type and rules.
struct KeyIdentity: Sendable {
    let name: String
    let type: ObjectIdentifier
    let limits: KeyLimits
    let traits: KeyTraits
    /// Where the list of allowed values stands in memory, which is kept there with the key; 0 without one. Two lists in
    /// two places may hold the same, which only their type can tell.
    let allowed: UInt

    init<Value>(_ key: DefaultsKey<Value>) {
        name = key.name
        type = ObjectIdentifier(Value.self)
        limits = key.limits
        traits = key.traits
        allowed = key.placeOfAllowed
    }

    /// A number that keys of one name and type have in common, and hardly any others.
    static func number(_ name: String, _ type: ObjectIdentifier) -> UInt {
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

extension DefaultsKey {
    /// Where the list of allowed values stands in memory; 0 without one.
    @inlinable var placeOfAllowed: UInt {
        guard let allowed else { return 0 }
        return allowed.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}
