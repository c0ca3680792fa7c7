/// The distance of one name, of at most 64 bytes, from many: insertions, deletions, substitutions and swaps of
/// neighbours (optimal string alignment), ASCII letters without their case.
///
/// A column of the table of distances is kept in the bits of a few words and computed in one go (Hyyrö, "A bit-vector
/// algorithm for computing Levenshtein and Damerau edit distances", 2003), so that a byte of a candidate costs the same
/// however long the name is.
struct EditDistance {
    /// How many bytes of candidates were looked at, for whoever bounds that.
    private(set) var steps = 0
    private let count: Int
    /// For each byte the places in the name where it stands.
    private var places = [UInt64](repeating: 0, count: 256)

    init(from name: String) {
        count = name.utf8.count
        for (position, byte) in name.utf8.enumerated() { places[Int(Self.folded(byte))] |= 1 << UInt64(position) }
    }

    /// How far a name may be from this one to be suggested for it.
    var tolerance: Int { max(1, count / 3) }

    /// How far the last part of a name may be from this one for the name to be suggested. Shorter words have to be the
    /// same: many names end in something like them.
    var partTolerance: Int { count / 3 }

    /// The distance, or nil if it is beyond the tolerance.
    mutating func distance(to letters: Span<UInt8>, within tolerance: Int) -> Int? {
        steps += Self.overhead
        guard abs(letters.count - count) <= tolerance else { return nil }
        guard count > 0 else { return letters.count }
        steps += letters.count
        let last: UInt64 = 1 << UInt64(count - 1)
        var distance = count
        // Where a column of the table grows and where it shrinks, from one row to the next.
        var (grows, shrinks) = (UInt64.max, UInt64(0))
        var (isDiagonal, previous) = (UInt64(0), UInt64(0))
        for index in letters.indices {
            let here = places[Int(Self.folded(letters[index]))]
            let swapped = ((~isDiagonal & here) << 1) & previous
            isDiagonal = (((here & grows) &+ grows) ^ grows) | here | shrinks | swapped
            var increases = shrinks | ~(isDiagonal | grows)
            var decreases = isDiagonal & grows
            if increases & last != 0 { distance += 1 }
            if decreases & last != 0 { distance -= 1 }
            // It falls by one with each byte at most.
            if distance - (letters.count - index - 1) > tolerance { return nil }
            increases = increases << 1 | 1
            decreases <<= 1
            grows = decreases | ~(isDiagonal | increases)
            shrinks = increases & isDiagonal
            previous = here
        }
        return distance <= tolerance ? distance : nil
    }

    /// What a candidate costs beside its bytes.
    private static let overhead = 8

    private static func folded(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
