/// How much of a request is taken before it is refused.
package struct RequestLimits: Hashable, Sendable {
    /// Bytes of the target, in the form in which it was sent.
    package let maximumTargetLength: Int
    /// Bytes of the head, from the first of the request to the end of the empty line; and as much for trailers.
    package let maximumHeadLength: Int
    /// Fields of the head; and as many trailers.
    package let maximumFieldCount: Int
    /// Bytes of the body, without the framing of chunks.
    package let maximumBodyLength: Int

    /// Limits; a number out of the reach of the parser (1 to 1 GiB) is taken as the nearest one in it.
    package init(
        maximumTargetLength: Int = 8_192, maximumHeadLength: Int = 16_384, maximumFieldCount: Int = 64,
        maximumBodyLength: Int = 16 << 20
    ) {
        func bounded(_ number: Int) -> Int { max(1, min(number, 1 << 30)) }
        self.maximumTargetLength = bounded(maximumTargetLength)
        self.maximumHeadLength = bounded(maximumHeadLength)
        self.maximumFieldCount = bounded(maximumFieldCount)
        self.maximumBodyLength = max(0, min(maximumBodyLength, 1 << 30))
    }

    /// How many bytes of a chunked body may be framing. Chunks of one byte are five times as much framing as body, so
    /// without a bound a sender could make the server hold a multiple of the longest body.
    package var maximumFramingLength: Int { 65_536 + maximumBodyLength / 8 }

    /// More bytes than this never belong to one message: what a connection has to be ready to hold.
    package var maximumMessageLength: Int { 2 * maximumHeadLength + maximumBodyLength + maximumFramingLength }

    /// Bytes of one line with the size of a chunk and its extensions.
    static let maximumChunkLineLength = 256
}
