/// A compressor that writes gzip (RFC 1952): one block of deflate (RFC 1951), with codes made for it.
///
/// It is for texts that are compressed once and sent often. It takes some milliseconds for 100 kB.
enum Gzip {
    static func compress(_ bytes: [UInt8]) -> [UInt8] {
        // The method is deflate. There is no name and no time, and the system is unknown.
        var output = BitWriter(bytes: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])
        write(tokens(of: bytes), to: &output)
        output.endByte()
        output.write(Int(checksum(of: bytes)), count: 32)
        output.write(bytes.count & 0xFFFF_FFFF, count: 32)
        return output.bytes
    }

    /// CRC-32 as IEEE 802.3 has it.
    static func checksum(of bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { crc, byte in crc >> 8 ^ remainders[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] }
    }

    private static let remainders: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(byte) { crc, _ in crc >> 1 ^ (crc & 1) &* 0xEDB8_8320 }
    }

    // MARK: Repetitions

    /// A byte as it is, which has the length 1, or a copy of bytes that stand so far before.
    private typealias Token = (length: Int, from: Int)

    private static let copyLengths = 3...258
    private static let window = 32_768
    /// The number of earlier places that a place is compared with.
    private static let patience = 128

    /// Replaces repetitions by copies. A longer copy that begins a byte later is worth a byte as it is.
    private static func tokens(of bytes: [UInt8]) -> [Token] {
        var tokens: [Token] = []
        var finder = RepetitionFinder(count: bytes.count)
        var place = 0
        var found = finder.longest(at: 0, in: bytes)
        while place < bytes.count {
            let next = finder.longest(at: place + 1, in: bytes)
            if copyLengths.contains(found.length), found.length >= next.length {
                tokens.append(found)
                place += found.length
                found = finder.longest(at: place, in: bytes)
            } else {
                tokens.append((1, Int(bytes[place])))
                place += 1
                found = next
            }
        }
        return tokens
    }

    /// An index of all places by the three bytes that stand there. Places are asked for in their order.
    private struct RepetitionFinder {
        /// The last place of each hash, and for each place the one before with the same hash; -1 for none.
        private var last = [Int](repeating: -1, count: 1 << 13)
        private var previous: [Int]
        private var known = 0

        init(count: Int) {
            previous = [Int](repeating: -1, count: count)
        }

        private static func hash(_ bytes: [UInt8], at place: Int) -> Int {
            let three = Int(bytes[place]) | Int(bytes[place + 1]) << 8 | Int(bytes[place + 2]) << 16
            return (three &* 0x9E37_79B1) >> 15 & 0x1FFF
        }

        /// Finds the longest copy of earlier bytes for a place; its length is 0 if there is none.
        mutating func longest(at place: Int, in bytes: [UInt8]) -> Token {
            let most = min(copyLengths.upperBound, bytes.count - place)
            guard most >= copyLengths.lowerBound else { return (0, 0) }
            while known < place {
                let hash = Self.hash(bytes, at: known)
                (previous[known], last[hash]) = (last[hash], known)
                known += 1
            }
            var best: Token = (0, 0)
            var candidate = last[Self.hash(bytes, at: place)]
            var tries = patience
            while candidate >= 0, place - candidate <= window, tries > 0, best.length < most {
                var length = 0
                while length < most, bytes[candidate + length] == bytes[place + length] { length += 1 }
                if length > best.length { best = (length, place - candidate) }
                candidate = previous[candidate]
                tries -= 1
            }
            return best.length < copyLengths.lowerBound ? (0, 0) : best
        }
    }

    // MARK: The block

    /// The first number of each symbol for a range of numbers, and the count of bits that say which of the range.
    private typealias Ranges = [(first: Int, bits: Int)]

    private static func ranges(from first: Int, bits: [Int]) -> Ranges {
        var next = first
        return bits.map { bits in
            defer { next += 1 << bits }
            return (next, bits)
        }
    }

    /// 258 has a symbol of its own, beside the range that it is the last number of.
    private static let lengths =
        ranges(from: 3, bits: (0..<28).map { max(0, $0 / 4 - 1) }) + [(copyLengths.upperBound, 0)]
    private static let distances = ranges(from: 1, bits: (0..<30).map { max(0, $0 / 2 - 1) })
    /// The symbol after which the block ends. Lengths have those after it.
    private static let end = 256

    private static func symbol(of number: Int, in ranges: Ranges) -> Int {
        (ranges.firstIndex { $0.first > number } ?? ranges.count) - 1
    }

    private static func write(_ tokens: [Token], to output: inout BitWriter) {
        var counts = (texts: [Int](repeating: 0, count: end + 1 + lengths.count), distances: distances.map { _ in 0 })
        counts.texts[end] = 1
        for token in tokens {
            guard token.length > 1 else {
                counts.texts[token.from] += 1
                continue
            }
            counts.texts[end + 1 + symbol(of: token.length, in: lengths)] += 1
            counts.distances[symbol(of: token.from, in: distances)] += 1
        }
        let texts = PrefixCode(counts: counts.texts, longest: 15)
        let places = PrefixCode(counts: counts.distances, longest: 15)
        // It is the last block, and has codes of its own.
        output.write(0b101, count: 3)
        write(texts, places, to: &output)
        for token in tokens {
            guard token.length > 1 else {
                texts.write(token.from, to: &output)
                continue
            }
            let (length, distance) = (symbol(of: token.length, in: lengths), symbol(of: token.from, in: distances))
            texts.write(end + 1 + length, to: &output)
            output.write(token.length - lengths[length].first, count: lengths[length].bits)
            places.write(distance, to: &output)
            output.write(token.from - distances[distance].first, count: distances[distance].bits)
        }
        texts.write(end, to: &output)
    }

    /// Writes the lengths of two codes, runs of zeros shortened: 17 is for three to ten of them, 18 for more.
    private static func write(_ texts: PrefixCode, _ places: PrefixCode, to output: inout BitWriter) {
        var items: [(symbol: Int, extra: Int, bits: Int)] = []
        var rest = (texts.lengths + places.lengths)[...]
        while let length = rest.first {
            let run = min(138, rest.prefix { $0 == 0 }.count)
            items.append(run < 3 ? (length, 0, 0) : run < 11 ? (17, run - 3, 3) : (18, run - 11, 7))
            rest = rest.dropFirst(run < 3 ? 1 : run)
        }
        var counts = [Int](repeating: 0, count: 19)
        for item in items { counts[item.symbol] += 1 }
        let code = PrefixCode(counts: counts, longest: 7)
        output.write(texts.lengths.count - 257, count: 5)
        output.write(places.lengths.count - 1, count: 5)
        output.write(19 - 4, count: 4)
        for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15] {
            output.write(code.lengths[symbol], count: 3)
        }
        for item in items {
            code.write(item.symbol, to: &output)
            output.write(item.extra, count: item.bits)
        }
    }
}

/// A code by Huffman's method: the more often a symbol occurs, the fewer bits it takes.
struct PrefixCode {
    /// The count of bits of each symbol; 0 for one that does not occur.
    let lengths: [Int]
    /// The bits of each symbol, the first one lowest.
    private let bits: [Int]

    /// Makes a code for symbols that occur so often, of which none takes more than some bits.
    init(counts: [Int], longest: Int) {
        var counts = counts
        // A code of a single symbol would be incomplete, which readers refuse.
        for symbol in 0..<2 where counts.count(where: { $0 > 0 }) < 2 { counts[symbol] = max(1, counts[symbol]) }
        var lengths = Self.lengths(counts)
        while lengths.contains(where: { $0 > longest }) {
            counts = counts.map { ($0 + 1) / 2 }
            lengths = Self.lengths(counts)
        }
        var bits = lengths
        var next = 0
        for length in 1...longest {
            for symbol in lengths.indices where lengths[symbol] == length {
                bits[symbol] = (0..<length).reduce(0) { $0 << 1 | next >> $1 & 1 }
                next += 1
            }
            next <<= 1
        }
        (self.lengths, self.bits) = (lengths, bits)
    }

    /// Joins the two lightest again and again. Joined ones come about in the order of their weight.
    private static func lengths(_ counts: [Int]) -> [Int] {
        let symbols = counts.indices.filter { counts[$0] > 0 }.sorted { (counts[$0], $0) < (counts[$1], $1) }
        var weights = symbols.map { counts[$0] }
        var parents = [Int](repeating: 0, count: 2 * symbols.count - 1)
        var (single, joined) = (0, symbols.count)
        while weights.count < parents.count {
            var weight = 0
            for _ in 0..<2 {
                let isSingle = single < symbols.count && (joined == weights.count || weights[single] <= weights[joined])
                let lightest = isSingle ? single : joined
                if isSingle { single += 1 } else { joined += 1 }
                weight += weights[lightest]
                parents[lightest] = weights.count
            }
            weights.append(weight)
        }
        var depths = [Int](repeating: 0, count: parents.count)
        for node in depths.indices.dropLast().reversed() { depths[node] = depths[parents[node]] + 1 }
        var lengths = counts.map { _ in 0 }
        for (symbol, depth) in zip(symbols, depths) { lengths[symbol] = depth }
        return lengths
    }

    fileprivate func write(_ symbol: Int, to output: inout BitWriter) {
        output.write(bits[symbol], count: lengths[symbol])
    }
}

/// Bytes that are filled bit by bit, from the lowest.
private struct BitWriter {
    private(set) var bytes: [UInt8]
    private var pending = 0
    private var count = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Adds the lowest bits of a number, at most 32.
    mutating func write(_ bits: Int, count added: Int) {
        pending |= bits << count
        count += added
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: pending))
            pending >>= 8
            count -= 8
        }
    }

    /// Fills the byte that is begun with zeros.
    mutating func endByte() {
        if count > 0 { write(0, count: 8 - count) }
    }
}
