internal import SettingsModel

/// A digest that tells one request from another, the same in every run: 128 bits of FNV-1a.
///
/// It guards against mistakes, such as a key used for two requests, not against an attacker who looks for collisions: one
/// who could make a collision could as well use a key of their own.
struct RequestDigest {
    private var state: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    private static let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b

    /// Adds a text, told apart from its neighbours by its length.
    mutating func add(_ text: String) {
        let bytes = text.utf8Span.span
        add(number: UInt64(bytes.count))
        for index in bytes.indices { mix(bytes[index]) }
    }

    /// Adds texts, told apart from what follows by their number.
    mutating func add(list texts: [String]) {
        add(number: UInt64(texts.count))
        for text in texts { add(text) }
    }

    /// Adds a value by what it means: members in the order of their names, numbers by their bits. Recursion follows
    /// nesting, which is bounded.
    mutating func add(_ value: JSONValue) {
        switch value {
        case .null: mix(0)
        case .bool(let isTrue): mix(isTrue ? 2 : 1)
        case .integer(let number):
            mix(3)
            add(number: UInt64(bitPattern: number))
        case .double(let number):
            mix(4)
            add(number: number.bitPattern)
        case .string(let text):
            mix(5)
            add(text)
        case .array(let elements):
            mix(6)
            add(number: UInt64(elements.count))
            for element in elements { add(element) }
        case .object(let object):
            mix(7)
            add(number: UInt64(object.count))
            for member in object.members.sorted(by: { $0.name.precedesInBytes($1.name) }) {
                add(member.name)
                add(member.value)
            }
        }
    }

    private mutating func add(number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { mix(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }

    private mutating func mix(_ byte: UInt8) {
        state = (state ^ UInt128(byte)) &* Self.prime
    }

    /// The digest in hexadecimal digits, after the name of its form.
    ///
    /// Digests that version 0.3 kept have no such name. They are of the bytes of the request.
    var text: String {
        "meaning:" + String(state, radix: 16)
    }
}
