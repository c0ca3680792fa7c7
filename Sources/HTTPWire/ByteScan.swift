/// Searches for delimiters, eight bytes at a time. Most bytes of a head are not delimiters.
///
/// The searches use the SWAR technique (SIMD within a register). The subtraction in `below` can borrow from the next
/// higher byte and mark that byte wrongly, but only if the lower byte is marked, too. So the lowest marked byte is
/// always right.
extension Span<UInt8> {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    /// Returns the index of the first control byte (below 0x20, or 0x7F) in `start..<end`, or `end` if there is none.
    @inline(__always)
    func firstControlByte(from start: Int, to end: Int) -> Int {
        var index = start
        while index &+ 8 <= end {
            let word = eightBytes(at: index)
            let found = Self.below(0x20, word) | Self.equal(to: 0x7F, word)
            if found != 0 { return index &+ found.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
        while index < end {
            let byte = self[index]
            if byte < 0x20 || byte == 0x7F { break }
            index &+= 1
        }
        return index
    }

    /// Returns the index of the first byte in `start..<end` that ends a request target, divides it, or is not allowed
    /// in it: a space, a control byte, `?` or `#`. Returns `end` if there is none.
    @inline(__always)
    func firstTargetDelimiter(from start: Int, to end: Int) -> Int {
        var index = start
        while index &+ 8 <= end {
            let word = eightBytes(at: index)
            let found =
                Self.below(0x21, word) | Self.equal(to: 0x7F, word) | Self.equal(to: UInt8(ascii: "?"), word)
                | Self.equal(to: UInt8(ascii: "#"), word)
            if found != 0 { return index &+ found.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
        while index < end {
            let byte = self[index]
            if byte < 0x21 || byte == 0x7F || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
            index &+= 1
        }
        return index
    }

    /// Loads eight bytes as a little-endian number.
    @inline(__always)
    func eightBytes(at index: Int) -> UInt64 {
        // The load is safe although its name says "unsafe": it checks the bounds, and any eight bytes form a UInt64.
        UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// Returns a word with the high bit set in each byte of `word` that is below `bound`. The bound is at most 0x80.
    @inline(__always)
    private static func below(_ bound: UInt8, _ word: UInt64) -> UInt64 {
        (word &- ones &* UInt64(bound)) & ~word & highBits
    }

    /// Returns a word with the high bit set in each byte of `word` that equals the ASCII character `byte`.
    @inline(__always)
    private static func equal(to byte: UInt8, _ word: UInt64) -> UInt64 {
        below(1, word ^ (ones &* UInt64(byte)))
    }
}
