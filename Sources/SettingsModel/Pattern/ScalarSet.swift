/// A set of code points as sorted ranges that neither touch nor overlap.
///
/// Code points rather than scalars, because [\uD800-\uDFFF] is a valid class.
struct ScalarSet: Hashable, Sendable {
    static let maximum: UInt32 = 0x10FFFF

    let ranges: [ClosedRange<UInt32>]

    /// Takes ranges in any order, overlapping or not.
    init(_ unordered: [ClosedRange<UInt32>]) {
        var merged: [ClosedRange<UInt32>] = []
        for range in unordered.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound + 1 {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        ranges = merged
    }

    var inverted: ScalarSet {
        var gaps: [ClosedRange<UInt32>] = []
        var start: UInt32 = 0
        for range in ranges {
            if range.lowerBound > start {
                gaps.append(start...(range.lowerBound - 1))
            }
            start = range.upperBound + 1
        }
        if start <= Self.maximum {
            gaps.append(start...Self.maximum)
        }
        return ScalarSet(gaps)
    }

    func contains(_ value: UInt32) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if value > ranges[middle].upperBound {
                low = middle + 1
            } else if value < ranges[middle].lowerBound {
                high = middle
            } else {
                return true
            }
        }
        return false
    }
}

extension ScalarSet {
    static let all = ScalarSet([0...maximum])
    static let ascii = ScalarSet([0...0x7F])
    /// \d, which is ASCII only in ECMA-262.
    static let digits = ScalarSet([0x30...0x39])
    /// \w without the `i` flag: ASCII only.
    static let word = ScalarSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    static let lineTerminators = ScalarSet([0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029])
    /// \s: WhiteSpace and LineTerminator of ECMA-262, which is White_Space less U+0085 and with U+FEFF.
    static let space = ScalarSet([
        0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029, 0x202F...0x202F,
        0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
    ])
    static let regionalIndicators = ScalarSet([0x1F1E6...0x1F1FF])
    static let emojiComponents = ScalarSet([
        0x23...0x23, 0x2A...0x2A, 0x30...0x39, 0x200D...0x200D, 0x20E3...0x20E3, 0xFE0F...0xFE0F, 0x1F1E6...0x1F1FF,
        0x1F3FB...0x1F3FF, 0x1F9B0...0x1F9B3, 0xE0020...0xE007F,
    ])
}
