internal import HTTPWire
internal import Platform

/// A queue of bytes that a connection is to send. A large piece is shared by all connections that send it; small ones are
/// copied together, and charged to the budget.
///
/// Runs on its loop's queue only.
final class OutputQueue {
    /// From this length on a piece is shared.
    static let sharedLength = 64 * 1024

    private struct Piece {
        var bytes: [UInt8]
        /// The bytes before it are sent.
        var start = 0
        /// Keeps the charge for bytes that are shared.
        var owner: (any AnyObject & Sendable)?
        let isShared: Bool
        /// True if the queue is charged for the bytes; else their owner is.
        let isCharged: Bool
    }

    private var pieces: [Piece] = []
    /// The pieces before this one are sent.
    private var first = 0
    /// The bytes that are left.
    private(set) var count = 0
    private(set) var rate: MinimumRate
    private unowned let context: LoopContext
    private let charge: MemoryBudget.Reservation

    init(_ context: LoopContext) {
        self.context = context
        context.outputQueues += 1
        rate = MinimumRate(at: context.now)
        charge = context.budget.charge()
    }

    deinit {
        context.outputQueues -= 1
    }

    var isEmpty: Bool { count == 0 }

    /// Adds bytes, which are copied.
    func append(copying bytes: Span<UInt8>) {
        guard !bytes.isEmpty else { return }
        if let last = pieces.indices.last, last >= first, !pieces[last].isShared {
            bytes.withUnsafeBufferPointer { pieces[last].bytes.append(contentsOf: $0) }
        } else {
            pieces.append(
                Piece(bytes: bytes.withUnsafeBufferPointer { Array($0) }, owner: nil, isShared: false, isCharged: true))
        }
        charge.resize(to: charge.bytes + bytes.count)
        count += bytes.count
    }

    /// Adds bytes, from a place on. They are shared if they are long.
    func append(_ bytes: [UInt8], from start: Int = 0, owner: (any AnyObject & Sendable)? = nil) {
        guard bytes.count >= Self.sharedLength else { return append(copying: bytes.span.extracting(start...)) }
        pieces.append(Piece(bytes: bytes, start: start, owner: owner, isShared: true, isCharged: owner == nil))
        if owner == nil { charge.resize(to: charge.bytes + bytes.count) }
        count += bytes.count - start
    }

    /// Adds a piece of a streamed body, framed as a chunk for HTTP/1.1.
    func append(chunk piece: [UInt8], owner: (any AnyObject & Sendable)?, http11: Bool) {
        guard http11, piece.count >= Self.sharedLength else {
            var framed: [UInt8] = []
            ResponseWriter.appendChunk(piece.span, to: &framed, http11: http11)
            return append(copying: framed.span)
        }
        var head: [UInt8] = []
        ResponseWriter.appendChunkHead(of: piece.count, to: &head)
        append(copying: head.span)
        append(piece, owner: owner)
        ResponseWriter.chunkEnd.withUTF8Buffer { append(copying: $0.span) }
    }

    /// Sends what the kernel takes in one turn: it may take megabytes, and copies them. Returns how much that was; nil if
    /// the peer is gone.
    func send(on socket: borrowing Socket) -> Int? {
        var sent = 0
        let most = context.bytesPerIteration
        defer { rate.add(sent, at: context.now) }
        while first < pieces.count, sent < most {
            let piece = pieces[first]
            let end = min(piece.bytes.count, piece.start + most - sent)
            guard let taken = socket.send(piece.bytes.span.extracting(piece.start..<end)) else { return nil }
            sent += taken
            count -= taken
            guard piece.start + taken == piece.bytes.count else {
                pieces[first].start += taken
                return sent
            }
            if piece.isCharged { charge.resize(to: charge.bytes - piece.bytes.count) }
            pieces[first].bytes = []
            pieces[first].owner = nil
            first += 1
        }
        if first == pieces.count { (pieces, first) = ([], 0) }
        return sent
    }
}
