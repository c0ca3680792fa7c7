/// A set of characters as ascending ranges of code points.
struct ScalarRanges: Sendable {
    private let ranges: [ClosedRange<UInt32>]

    /// `ranges` are ascending and do not overlap.
    init(_ ranges: [ClosedRange<UInt32>]) {
        self.ranges = ranges
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        var lower = 0
        var upper = ranges.count
        while lower < upper {
            let middle = (lower + upper) / 2
            if ranges[middle].upperBound < scalar.value {
                lower = middle + 1
            } else {
                upper = middle
            }
        }
        return lower < ranges.count && ranges[lower].contains(scalar.value)
    }
}

/// The scripts that context rules ask for, as of Unicode 17.
///
/// Swift knows no Script property. Only characters that IDNA permits are ever looked up, so a range may run over
/// others.
enum Script {
    static let greek = ScalarRanges([
        0x370...0x373, 0x375...0x377, 0x37B...0x37D, 0x37F...0x37F, 0x384...0x384, 0x386...0x386, 0x388...0x3E1,
        0x3F0...0x3FF, 0x1D26...0x1D2A, 0x1D5D...0x1D61, 0x1D66...0x1D6A, 0x1DBF...0x1DBF, 0x1F00...0x1FFE,
        0xAB65...0xAB65,
    ])

    static let hebrew = ScalarRanges([0x591...0x5F4, 0xFB1D...0xFB4F])

    /// Hiragana, Katakana and Han; the prolonged sound mark, which the scripts share, belongs to none of them.
    static let japanese = ScalarRanges([
        0x3005...0x3005, 0x3007...0x3007, 0x3041...0x3096, 0x309D...0x309F, 0x30A1...0x30FA, 0x30FD...0x30FF,
        0x31F0...0x31FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAD9, 0x16FE2...0x16FE3, 0x16FF0...0x16FF6,
        0x1AFF0...0x1AFFF, 0x1B000...0x1B122, 0x1B132...0x1B132, 0x1B150...0x1B152, 0x1B155...0x1B155,
        0x1B164...0x1B167, 0x20000...0x2FA1F, 0x30000...0x3347F,
    ])
}
