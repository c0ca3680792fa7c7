/// The segments of a path, as ranges: what stands between slashes, still percent-encoded, so that a `%2F` in a name
/// divides nothing.
///
/// `/` has none; `/v1/` has `v1` and an empty one, and `//` has two empty ones: they are other paths than `/v1` and `/`.
package struct PathSegments: Sendable {
    private var position: Int
    private let end: Int

    /// Goes through the path in this range of the bytes, which begins with a slash.
    package init(_ path: Range<Int>) {
        end = path.upperBound
        position = path.count > 1 ? path.lowerBound : end
    }

    /// The next segment; nil if there is none.
    package mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
        guard position < end else { return nil }
        let start = position + 1
        position = start
        while position < end, bytes[position] != UInt8(ascii: "/") { position += 1 }
        return start..<position
    }
}
