/// A digest that tells one request from another, the same in every run: 128 bits of FNV-1a.
///
/// It guards against mistakes, such as a key used for two requests, not against somebody who looks for collisions: who
/// could make one could as well use a key of their own.
struct RequestDigest {
    private var state: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    private static let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b

    /// Adds a part, told apart from its neighbours by its length.
    mutating func add(_ bytes: Span<UInt8>) {
        var length = UInt64(bytes.count)
        for _ in 0..<8 {
            mix(UInt8(truncatingIfNeeded: length))
            length >>= 8
        }
        var index = 0
        while index < bytes.count {
            mix(bytes[index])
            index += 1
        }
    }

    private mutating func mix(_ byte: UInt8) {
        state = (state ^ UInt128(byte)) &* Self.prime
    }

    /// The digest in hexadecimal digits.
    var text: String {
        String(state, radix: 16)
    }
}
