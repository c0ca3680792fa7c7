import HTTPWire

/// A body that comes bit by bit. Between its pieces it holds no buffer.
final class AnswerStream {
    enum DrainWish: UInt8 {
        case none
        /// The handler wants to hear once all is sent.
        case asked
        /// It hears in the next batch.
        case granted
    }

    /// What has come and was not offered to the kernel yet, framed as it will be sent.
    private(set) var pending: [UInt8] = []
    /// Bytes that came while others of an earlier batch waited: the last that are sent.
    private var behind = 0
    /// Since when the peer has been further behind than it may be for long; nil if it was not when the last piece came.
    private var lagStart: UInt64?
    /// The batch in which a piece came while nothing waited. Whatever comes in it, the peer had no chance to read
    /// before.
    private var freeBatch = -1
    var drainWish = DrainWish.none
    /// Its head has been rendered.
    var hasBegun = false
    private(set) var hasEnded: Bool

    /// Digits of a length, and the two ends of lines of a chunk: so that a piece is copied once.
    private static let frameSize = 20

    init(hasEnded: Bool = false) {
        self.hasEnded = hasEnded
    }

    /// Adds a piece. `unsent`: bytes of it that the kernel was offered and has not taken.
    func add(_ piece: Span<UInt8>, isLast: Bool, http11: Bool, unsent: Int, _ context: LoopContext) {
        let batch = context.batch
        let waiting = pending.count + unsent
        behind = min(behind, waiting)
        // The peer has caught up since: what comes now begins another lag.
        if behind <= context.limits.streamBytes { lagStart = nil }
        if waiting == 0 { freeBatch = batch }
        if pending.isEmpty, !piece.isEmpty { pending.reserveCapacity(piece.count + Self.frameSize) }
        let start = pending.count
        ResponseWriter.appendChunk(piece, to: &pending, http11: http11)
        if isLast {
            hasEnded = true
            if http11 { ResponseWriter.lastChunk.withUTF8Buffer { pending.append(contentsOf: $0) } }
        }
        if batch != freeBatch { behind += pending.count - start }
        if lagStart == nil, isBehind(by: context.limits.streamBytes, unsent: unsent) { lagStart = context.now }
    }

    /// True if the peer is too far behind what comes: by much for long, or by very much. Of a body that has ended
    /// nothing more comes.
    func lags(unsent: Int, _ context: LoopContext) -> Bool {
        let limits = context.limits
        guard !hasEnded, let lagStart, isBehind(by: limits.streamBytes, unsent: unsent) else { return false }
        return context.now &- lagStart >= limits.streamTime || isBehind(by: limits.mostStreamBytes, unsent: unsent)
    }

    /// What came while nothing waited does not count as lag.
    private func isBehind(by limit: Int, unsent: Int) -> Bool {
        min(behind, pending.count + unsent) > limit
    }

    func takePending() -> [UInt8] {
        defer { pending = [] }
        return pending
    }
}
