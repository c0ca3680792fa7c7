internal import HTTPWire
internal import Platform

/// A queue of bytes that a connection has to send, in pieces.
///
/// A large piece is not copied: all connections that send it share one array. Small pieces are copied into one array.
/// The memory of the pieces is charged to the `MemoryBudget`. Owned by the event loop.
final class OutputQueue {
    /// The minimum length of a piece that is shared instead of copied.
    static let sharedLength = 64 * 1024

    private struct Piece {
        var bytes: [UInt8]
        /// The index of the first unsent byte.
        var start = 0
        /// An object that holds the memory reservation of shared bytes until all connections have sent them.
        var owner: (any AnyObject & Sendable)?
        let isShared: Bool
        /// True if the reservation of this queue covers the bytes; false if the reservation of `owner` covers them.
        let isCharged: Bool
    }

    private var pieces: [Piece] = []
    private var firstUnsentPiece = 0
    /// The number of unsent bytes.
    private(set) var count = 0
    /// Checks that the kernel accepts the bytes at the minimum rate. The kernel accepts bytes only as fast as the peer
    /// reads.
    private(set) var rate: MinimumRate
    private unowned let context: LoopContext
    /// The part of the memory budget that covers the pieces without an owner.
    private let charge: MemoryBudget.Reservation

    init(_ context: LoopContext) {
        self.context = context
        context.outputQueueCount += 1
        rate = MinimumRate(at: context.now)
        charge = context.budget.charge()
    }

    deinit {
        context.outputQueueCount -= 1
    }

    var isEmpty: Bool { count == 0 }

    func append(copying bytes: Span<UInt8>) {
        guard !bytes.isEmpty else { return }
        if let last = pieces.indices.last, last >= firstUnsentPiece, !pieces[last].isShared {
            bytes.withUnsafeBufferPointer { pieces[last].bytes.append(contentsOf: $0) }
        } else {
            pieces.append(
                Piece(bytes: bytes.withUnsafeBufferPointer { Array($0) }, owner: nil, isShared: false, isCharged: true))
        }
        charge.resize(to: charge.bytes + bytes.count)
        count += bytes.count
    }

    /// Appends the bytes of an array from the index `start` on. Shares a long array; copies a short array.
    ///
    /// - Parameter owner: the object that holds the memory reservation of the array. If nil, or if the array is copied,
    ///   the reservation of this queue grows instead.
    func append(_ bytes: [UInt8], from start: Int = 0, owner: (any AnyObject & Sendable)? = nil) {
        guard bytes.count >= Self.sharedLength else { return append(copying: bytes.span.extracting(start...)) }
        pieces.append(Piece(bytes: bytes, start: start, owner: owner, isShared: true, isCharged: owner == nil))
        if owner == nil { charge.resize(to: charge.bytes + bytes.count) }
        count += bytes.count - start
    }

    /// Appends a piece of a streamed body, which is framed as a chunk for HTTP/1.1.
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

    /// Sends bytes until the kernel accepts no more, or `bytesPerIteration` is reached. The limit is needed because the
    /// kernel may copy megabytes in one call. Returns the number of sent bytes, or nil if the connection is closed.
    func send(on socket: borrowing Socket) -> Int? {
        var sent = 0
        let limit = context.bytesPerIteration
        defer { rate.recordTransfer(of: sent, at: context.now) }
        while firstUnsentPiece < pieces.count, sent < limit {
            let piece = pieces[firstUnsentPiece]
            let end = min(piece.bytes.count, piece.start + limit - sent)
            guard let accepted = socket.send(piece.bytes.span.extracting(piece.start..<end)) else { return nil }
            sent += accepted
            count -= accepted
            guard piece.start + accepted == piece.bytes.count else {
                pieces[firstUnsentPiece].start += accepted
                return sent
            }
            if piece.isCharged { charge.resize(to: charge.bytes - piece.bytes.count) }
            pieces[firstUnsentPiece].bytes = []
            pieces[firstUnsentPiece].owner = nil
            firstUnsentPiece += 1
        }
        if firstUnsentPiece == pieces.count { (pieces, firstUnsentPiece) = ([], 0) }
        return sent
    }
}
