/// A range of offsets into a message in half the room of a `Range<Int>`; heads are bounded far below 4 GiB.
///
/// All zero means that there is none: nothing that is ever noted ends before the first byte of a message.
struct ByteRange: Sendable, BitwiseCopyable {
    private var lower: UInt32
    private var upper: UInt32

    static let none = ByteRange(lower: 0, upper: 0)

    private init(lower: UInt32, upper: UInt32) {
        self.lower = lower
        self.upper = upper
    }

    init(_ range: Range<Int>) {
        lower = UInt32(truncatingIfNeeded: range.lowerBound)
        upper = UInt32(truncatingIfNeeded: range.upperBound)
    }

    var range: Range<Int>? {
        upper == 0 ? nil : Int(lower)..<Int(upper)
    }
}
