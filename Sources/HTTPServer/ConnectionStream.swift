internal import HTTPWire
internal import Platform

/// The body of a streamed answer, which the handler provides in pieces.
///
/// The stream keeps the pieces until the connection sends them. In HTTP/1.1, the stream frames the pieces as chunks. A
/// peer is lagging if it reads slowly and too many bytes wait. Owned by the event loop.
final class AnswerStream {
    /// Whether the handler has requested a call of its method `drained`. The event loop makes the call after it has
    /// sent all bytes of the stream.
    enum DrainNotification: UInt8 {
        /// The handler has requested no call.
        case none
        /// The handler has requested the call.
        case requested
        /// All bytes are sent. The event loop calls the handler in the next iteration.
        case scheduled
    }

    /// The framed pieces that the connection has not tried to send yet, if `queue` is nil.
    private var framedBytes: [UInt8] = []
    /// The framed pieces that the connection has not tried to send yet, if a piece is long or must wait for the peer;
    /// otherwise nil. A queue keeps a reference to a long piece (at least `OutputQueue.sharedLength` bytes) instead of
    /// a copy.
    private var queue: OutputQueue?
    /// An upper bound of the unsent bytes that count as lag: bytes that were added while bytes of an earlier iteration
    /// of the event loop were unsent. Each call of `append` first lowers the bound to the number of unsent bytes, if
    /// this number is smaller.
    private var laggingBytes = 0
    /// The time at which the lag exceeded `TransportLimits.streamBytes`; nil if the lag did not exceed this limit when
    /// the last piece was appended.
    private var lagStart: UInt64?
    /// The last iteration in which a piece was added when the stream had no unsent bytes. No bytes that were added in
    /// that iteration count as lag, because the peer could not read them earlier.
    private var lagFreeIteration = -1
    var drainNotification = DrainNotification.none
    /// True if the head of the answer has been rendered.
    var hasBegun = false
    /// True if the handler has provided the last piece.
    private(set) var hasEnded: Bool

    /// The maximum number of bytes before and after the data of a chunk.
    private static let frameSize = 20

    /// - Parameter hasEnded: true for the answer to a HEAD, which has no body. The stream then accepts no pieces.
    init(hasEnded: Bool) {
        self.hasEnded = hasEnded
    }

    /// Appends a piece. The stream retains `owner`, which holds the memory reservation of the piece, until the piece is
    /// sent. `unsent` is the number of bytes of the stream in the queue `Connection.unsent`.
    func append(
        _ piece: [UInt8], owner: (any AnyObject & Sendable)?, isLast: Bool, http11: Bool, unsent: Int,
        _ context: LoopContext
    ) {
        let start = pendingCount
        let waiting = start + unsent
        laggingBytes = min(laggingBytes, waiting)
        // End the lag if the peer has read enough since the last piece.
        if laggingBytes <= context.limits.streamBytes { lagStart = nil }
        if waiting == 0 { lagFreeIteration = context.iteration }
        // If the piece must wait for the peer, use a queue, because a queue charges its bytes to the memory budget.
        if piece.count >= OutputQueue.sharedLength || unsent > 0 { beginQueue(context) }
        if let queue {
            queue.append(chunk: piece, owner: owner, http11: http11)
        } else {
            if framedBytes.isEmpty, !piece.isEmpty { framedBytes.reserveCapacity(piece.count + Self.frameSize) }
            ResponseWriter.appendChunk(piece.span, to: &framedBytes, http11: http11)
        }
        if isLast {
            hasEnded = true
            if http11 { append(ResponseWriter.lastChunk) }
        }
        if context.iteration != lagFreeIteration { laggingBytes += pendingCount - start }
        if lagStart == nil, lagExceeds(context.limits.streamBytes, unsent: unsent) { lagStart = context.now }
    }

    /// Returns true if the lag has exceeded `TransportLimits.streamBytes` for at least `streamTime`, or if it exceeds
    /// `maximumStreamBytes`. Returns false if the stream has ended, because then the lag cannot grow.
    func isLagging(unsent: Int, _ context: LoopContext) -> Bool {
        let limits = context.limits
        guard !hasEnded, let lagStart, lagExceeds(limits.streamBytes, unsent: unsent) else { return false }
        return context.now &- lagStart >= limits.streamTime || lagExceeds(limits.maximumStreamBytes, unsent: unsent)
    }

    private func lagExceeds(_ limit: Int, unsent: Int) -> Bool {
        min(laggingBytes, pendingCount + unsent) > limit
    }

    /// The number of bytes that the connection has not tried to send yet.
    var pendingCount: Int { queue?.count ?? framedBytes.count }

    /// Removes and returns the pending bytes. Removes nothing and returns nil if there are no pending bytes, if there
    /// are more than `length` pending bytes, or if the pending bytes are in a queue.
    func removeAllBytes(ifAtMost length: Int) -> [UInt8]? {
        guard queue == nil, !framedBytes.isEmpty, framedBytes.count <= length else { return nil }
        defer { framedBytes = [] }
        return framedBytes
    }

    /// Removes the pending bytes and returns them as a queue.
    func removeQueue(_ context: LoopContext) -> OutputQueue {
        beginQueue(context)
        defer { queue = nil }
        return queue ?? OutputQueue(context)
    }

    /// Moves the pending bytes to a queue, unless they are already in a queue.
    private func beginQueue(_ context: LoopContext) {
        guard queue == nil else { return }
        let newQueue = OutputQueue(context)
        newQueue.append(framedBytes)
        framedBytes = []
        queue = newQueue
    }

    private func append(_ bytes: StaticString) {
        bytes.withUTF8Buffer { bytes in
            if let queue { queue.append(copying: bytes.span) } else { framedBytes.append(contentsOf: bytes) }
        }
    }
}

extension Connection {
    /// The maximum number of bytes of a stream that are copied to the output buffer, so that one system call sends the
    /// bytes together with earlier answers.
    private static let maximumCopiedBytes = 16 * 1024

    /// Appends a piece to a streamed body. Returns the number of unsent bytes of the body.
    func push(
        _ ticket: Ticket, _ piece: [UInt8], owner: (any AnyObject & Sendable)?, isLast: Bool, _ context: LoopContext
    ) -> Int {
        guard let (position, stream) = stream(ticket, context), !stream.hasEnded else { return 0 }
        let unsent = unsentBytes(of: stream, at: position)
        guard isLast || !piece.isEmpty else { return stream.pendingCount + unsent }
        stream.append(
            piece, owner: owner, isLast: isLast, http11: pendingAnswers[position].format.isHTTP11, unsent: unsent,
            context)
        // An alarm is a call of the handler at a set time. After the last piece, the handler does not need the call.
        if isLast { pendingAnswers[position].alarm = DeadlineWheel.never }
        if stream.isLagging(unsent: unsent, context) { mustCheckLag = true }
        if position == 0 || mustCheckLag { context.schedule(self) }
        return stream.pendingCount + unsent
    }

    /// Sets `mustCheckLag` to false. Returns true if the property was true and a stream still lags after the attempt to
    /// send.
    func checkForLaggingStream(_ context: LoopContext) -> Bool {
        guard mustCheckLag else { return false }
        mustCheckLag = false
        return pendingAnswers.indices.contains { position in
            guard let stream = pendingAnswers[position].stream else { return false }
            return stream.isLagging(unsent: unsentBytes(of: stream, at: position), context)
        }
    }

    /// Requests one call of the handler's `drained` when all bytes of a streamed body are sent.
    func notifyWhenDrained(_ ticket: Ticket, _ context: LoopContext) {
        guard let (position, stream) = stream(ticket, context), !stream.hasEnded, stream.drainNotification == .none
        else { return }
        stream.drainNotification = .requested
        if position == 0 { context.schedule(self) }
    }

    /// Schedules a requested call of `drained` if all bytes are sent. The call is made in the next iteration, so that
    /// other connections are served before the handler produces more of a long stream.
    func scheduleStreamDrainNotification(_ context: LoopContext) {
        guard let stream = pendingAnswers.first?.stream, stream.drainNotification == .requested,
            isDrained(stream, at: 0)
        else { return }
        stream.drainNotification = .scheduled
        context.drainedStreams.append(ticket(firstNumber))
    }

    /// Calls the handler's `drained`, unless the handler has pushed bytes since the call was scheduled.
    func deliverDrainNotification(_ ticket: Ticket, _ context: LoopContext) {
        guard let (position, stream) = stream(ticket, context), stream.drainNotification == .scheduled else { return }
        guard isDrained(stream, at: position) else { return stream.drainNotification = .requested }
        stream.drainNotification = .none
        context.handler.drained(ticket)
    }

    private func stream(_ ticket: Ticket, _ context: LoopContext) -> (Int, AnswerStream)? {
        guard let position = position(ticket, context), let stream = pendingAnswers[position].stream else { return nil }
        return (position, stream)
    }

    private func isDrained(_ stream: AnswerStream, at position: Int) -> Bool {
        stream.hasBegun && !stream.hasEnded && stream.pendingCount == 0 && unsentBytes(of: stream, at: position) == 0
    }

    /// The number of bytes of a stream in `unsent`. If the first pending answer is a stream that has begun, `unsent`
    /// has no bytes of other answers.
    private func unsentBytes(of stream: AnswerStream, at position: Int) -> Int {
        position == 0 && stream.hasBegun ? unsent?.count ?? 0 : 0
    }

    /// Sends the head and the pending bytes of the first pending answer, which is a stream. Returns true if the stream
    /// has ended, and all of it was passed to the output buffer (`context.output`), to the kernel or to `unsent`.
    func renderStream(_ stream: AnswerStream, _ context: LoopContext) -> Bool {
        if !stream.hasBegun {
            // Send earlier answers first, so that their unsent bytes do not count as lag.
            flush(context)
            guard phase == .open, unsent == nil else { return false }
            beginStream(stream, context)
        }
        guard stream.pendingCount > 0 else { return stream.hasEnded }
        if !context.output.isEmpty, let bytes = stream.removeAllBytes(ifAtMost: Self.maximumCopiedBytes) {
            context.output.append(contentsOf: bytes)
        } else {
            flush(context)
            guard phase == .open, unsent == nil else { return false }
            send(stream.removeQueue(context), context)
        }
        return stream.hasEnded
    }

    private func beginStream(_ stream: AnswerStream, _ context: LoopContext) {
        guard let answer = pendingAnswers.first, let response = answer.response else { return }
        stream.hasBegun = true
        // In HTTP/1.0, the close of the connection marks the end of a streamed body.
        if !answer.format.isHTTP11 { acceptsRequests = false }
        // When the request arrived, the handler chose the block of header fields that the loop adds to its answer.
        ResponseWriter.appendStreamHead(
            response, to: &context.output, omitsBody: answer.format.isHead,
            keepAlive: decideKeepAlive(
                after: response, answer.format, isLastPending: pendingAnswers.count == 1, context),
            http11: answer.format.isHTTP11, date: context.date,
            additionalFields: context.additionalFields[answer.format.fieldBlockIndex])
        // Release the header fields, because a stream may last for days.
        pendingAnswers[0].response = Response(status: response.status)
    }
}
