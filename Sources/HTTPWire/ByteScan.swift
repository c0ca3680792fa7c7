/// Looking for the end of a token, eight bytes at a time: heads are mostly bytes that mean nothing to the parser.
///
/// Both scans find the *first* byte sought exactly: in these sums a borrow can only blur bytes above one that is
/// itself sought.
extension Span<UInt8> {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    /// Where, from `start` up to `end`, the first control byte (below 0x20, or 0x7F) stands; `end` if there is none.
    @inline(__always)
    func firstControl(from start: Int, to end: Int) -> Int {
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

    /// Where, from `start` up to `end`, the first byte stands that ends a target or means something in it: a space,
    /// a control byte, `?` or `#`; `end` if there is none.
    @inline(__always)
    func firstTargetMark(from start: Int, to end: Int) -> Int {
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

    /// Eight bytes as a number, the first of them lowest.
    @inline(__always)
    func eightBytes(at index: Int) -> UInt64 {
        // "Unsafe" is only that the type is free to choose: any eight bytes are a UInt64, and the bounds are checked.
        UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// The high bit of each byte that is below `bound`, which is at most 0x80.
    @inline(__always)
    private static func below(_ bound: UInt8, _ word: UInt64) -> UInt64 {
        (word &- ones &* UInt64(bound)) & ~word & highBits
    }

    /// The high bit of each byte that equals an ASCII byte.
    @inline(__always)
    private static func equal(to byte: UInt8, _ word: UInt64) -> UInt64 {
        below(1, word ^ (ones &* UInt64(byte)))
    }
}
