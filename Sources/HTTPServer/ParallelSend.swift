internal import Dispatch
internal import HTTPWire
internal import Platform

/// Sends small answers to many connections on all processors at the same time.
///
/// The handler may answer thousands of waiting requests in one iteration of the event loop, and most of the time is
/// spent in the system call `send`. The loop waits while other threads send, so no locks are needed.
///
/// Owned by the event loop.
struct ParallelSend {
    /// The minimum number of connections. For fewer connections, waking other threads takes longer than sending.
    static let minimumConnections = 64
    /// The maximum length of a body or of a part of a stream. `Connection.processPendingWork` sends a longer body or
    /// part.
    static let maximumPieceLength = 16 * 1024
    /// The number of pieces that one task sends. The tasks of one call of `send` run in parallel.
    private static let piecesPerTask = 16
    /// The length at which `bytes` counts as full. The buffer is released after use if it has more than twice this
    /// capacity.
    private static let targetBytes = 1024 * 1024

    /// The range of `bytes` to send on a socket.
    private struct Piece: BitwiseCopyable {
        let descriptor: Int32
        let start: Int
        let end: Int
    }

    private var pieces: [Piece] = []
    private var bytes: [UInt8] = []
    /// The answer that was rendered last, with its range in `bytes`. Unmodified copies of the answer (`isCopy`) share
    /// the range, because many clients that wait for the same event get copies of one answer.
    private var last: (response: Response, format: AnswerFormat, keepsAlive: Bool, start: Int, end: Int)?

    var isFull: Bool { bytes.count >= Self.targetBytes }

    /// Adds a complete answer.
    mutating func add(
        _ response: Response, _ format: AnswerFormat, keepsAlive: Bool, _ context: LoopContext, to descriptor: Int32
    ) {
        if let last, last.format == format, last.keepsAlive == keepsAlive, last.response.isCopy(of: response) {
            pieces.append(Piece(descriptor: descriptor, start: last.start, end: last.end))
            return
        }
        let start = bytes.count
        ResponseWriter.append(
            response, to: &bytes, omitsBody: format.isHead, keepAlive: keepsAlive, http11: format.isHTTP11,
            date: context.date, additionalFields: context.additionalFields[format.fieldBlockIndex])
        last = (response, format, keepsAlive, start, bytes.count)
        pieces.append(Piece(descriptor: descriptor, start: start, end: bytes.count))
    }

    /// Adds a part of a streamed answer.
    mutating func add(_ piece: [UInt8], to descriptor: Int32) {
        pieces.append(Piece(descriptor: descriptor, start: bytes.count, end: bytes.count + piece.count))
        bytes += piece
    }

    /// Sends all pieces. Then calls `report` for each piece with its index, in the order in which the pieces were
    /// added, and with the part that the kernel did not accept. The part is nil if the call failed with an error other
    /// than a full buffer.
    mutating func send(_ report: (_ index: Int, _ unsentPart: ArraySlice<UInt8>?) -> Void) {
        var counts = [Int?](repeating: nil, count: pieces.count)
        counts.withUnsafeMutableBufferPointer { counts in
            bytes.withUnsafeBufferPointer { bytes in
                pieces.withUnsafeBufferPointer { pieces in
                    // Safe, because each task writes only its own elements of `counts`.
                    nonisolated(unsafe) let (counts, bytes, pieces) = (counts, bytes, pieces)
                    let taskCount = (pieces.count + Self.piecesPerTask - 1) / Self.piecesPerTask
                    DispatchQueue.concurrentPerform(iterations: taskCount) { task in
                        let first = task * Self.piecesPerTask
                        for index in first..<min(first + Self.piecesPerTask, pieces.count) {
                            let piece = pieces[index]
                            let part = UnsafeBufferPointer(rebasing: bytes[piece.start..<piece.end])
                            counts[index] = Socket.send(part.span, on: piece.descriptor)
                        }
                    }
                }
            }
        }
        for (index, count) in counts.enumerated() {
            report(index, count.map { bytes[(pieces[index].start + $0)..<pieces[index].end] })
        }
        pieces.removeAll(keepingCapacity: true)
        last = nil
        if bytes.capacity > 2 * Self.targetBytes { bytes = [] } else { bytes.removeAll(keepingCapacity: true) }
    }
}

extension Connection {
    /// Adds the pending answer of a connection that has only one pending answer, if the answer is complete and small or
    /// is a stream with a small pending part. Returns false if it added nothing; `processPendingWork` must then send
    /// the answers of the connection.
    func addAnswer(to parallelSend: inout ParallelSend, _ context: LoopContext) -> Bool {
        guard phase == .open, unsent == nil, pendingAnswers.count == 1, !parallelSend.isFull,
            let answer = pendingAnswers.popFirst()
        else { return false }
        if let stream = answer.stream {
            pendingAnswers.prepend(answer)
            guard stream.hasBegun, !stream.hasEnded,
                let bytes = stream.removeAllBytes(ifAtMost: ParallelSend.maximumPieceLength)
            else { return false }
            parallelSend.add(bytes, to: socket.descriptor)
            return true
        }
        guard let response = answer.response, response.body.count <= ParallelSend.maximumPieceLength else {
            pendingAnswers.prepend(answer)
            return false
        }
        let keepsAlive = decideKeepAlive(after: response, answer.format, isLastPending: true, context)
        parallelSend.add(response, answer.format, keepsAlive: keepsAlive, context, to: socket.descriptor)
        return true
    }
}
