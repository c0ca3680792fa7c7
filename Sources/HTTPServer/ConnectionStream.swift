internal import HTTPWire
internal import Platform

/// A body that comes in pieces. It holds no buffer between them.
final class AnswerStream {
    enum DrainWish: UInt8 {
        case none
        /// The handler wants a call once all is sent.
        case asked
        /// The handler gets it in the next batch.
        case granted
    }

    /// The pieces that were not offered to the kernel yet, framed as they are sent.
    private var text: [UInt8] = []
    /// The same once one of them is long: then they are in a queue, which shares it.
    private var queue: OutputQueue?
    /// Bytes that came while others of an earlier batch waited: the last that are sent.
    private var behind = 0
    /// When the peer fell further behind than it may be for long; nil if it had not when the last piece came.
    private var lagStart: UInt64?
    /// The batch in which a piece came while nothing waited. The peer has had no chance to read what comes in it.
    private var freeBatch = -1
    var drainWish = DrainWish.none
    /// True if its head has been rendered.
    var hasBegun = false
    private(set) var hasEnded: Bool

    /// Room for the frame of a chunk, so that a piece is copied once.
    private static let frameSize = 20

    init(hasEnded: Bool = false) {
        self.hasEnded = hasEnded
    }

    /// Adds a piece.
    ///
    /// - Parameter unsent: bytes of the stream that the kernel was offered and has not taken.
    func add(
        _ piece: [UInt8], owner: (any AnyObject & Sendable)?, isLast: Bool, http11: Bool, unsent: Int,
        _ context: LoopContext
    ) {
        let start = pendingCount
        let waiting = start + unsent
        behind = min(behind, waiting)
        // The peer has caught up since: what comes now begins another lag.
        if behind <= context.limits.streamBytes { lagStart = nil }
        if waiting == 0 { freeBatch = context.batch }
        // What has to wait is charged.
        if piece.count >= OutputQueue.sharedLength || unsent > 0 { beginQueue(context) }
        if let queue {
            queue.append(chunk: piece, owner: owner, http11: http11)
        } else {
            if text.isEmpty, !piece.isEmpty { text.reserveCapacity(piece.count + Self.frameSize) }
            ResponseWriter.appendChunk(piece.span, to: &text, http11: http11)
        }
        if isLast {
            hasEnded = true
            if http11 { append(ResponseWriter.lastChunk) }
        }
        if context.batch != freeBatch { behind += pendingCount - start }
        if lagStart == nil, isBehind(by: context.limits.streamBytes, unsent: unsent) { lagStart = context.now }
    }

    /// True if the peer is too far behind: by much for long, or by very much. A body that has ended grows no more.
    func lags(unsent: Int, _ context: LoopContext) -> Bool {
        let limits = context.limits
        guard !hasEnded, let lagStart, isBehind(by: limits.streamBytes, unsent: unsent) else { return false }
        return context.now &- lagStart >= limits.streamTime || isBehind(by: limits.mostStreamBytes, unsent: unsent)
    }

    /// What came while nothing waited does not count as lag.
    private func isBehind(by limit: Int, unsent: Int) -> Bool {
        min(behind, pendingCount + unsent) > limit
    }

    /// The bytes that were not offered to the kernel yet.
    var pendingCount: Int { queue?.count ?? text.count }

    /// Takes what is pending if that is at most so long.
    func takeText(upTo length: Int) -> [UInt8]? {
        guard queue == nil, !text.isEmpty, text.count <= length else { return nil }
        defer { text = [] }
        return text
    }

    /// Takes what is pending as a queue.
    func takeQueue(_ context: LoopContext) -> OutputQueue {
        beginQueue(context)
        defer { queue = nil }
        return queue ?? OutputQueue(context)
    }

    private func beginQueue(_ context: LoopContext) {
        guard queue == nil else { return }
        let new = OutputQueue(context)
        new.append(text)
        text = []
        queue = new
    }

    private func append(_ bytes: StaticString) {
        bytes.withUTF8Buffer { bytes in
            if let queue { queue.append(copying: bytes.span) } else { text.append(contentsOf: bytes) }
        }
    }
}

// MARK: Streams

extension Connection {
    /// Up to so many bytes are copied to go out with what precedes them.
    private static let joinedBytes = 16 * 1024

    /// Adds to a body that has begun. Returns how many bytes of it the kernel has not taken.
    func push(
        _ ticket: Ticket, _ piece: [UInt8], owner: (any AnyObject & Sendable)?, isLast: Bool, _ context: LoopContext
    ) -> Int {
        guard let (position, stream) = stream(ticket, context), !stream.hasEnded else { return 0 }
        let unsent = unsentBytes(of: stream, at: position)
        guard isLast || !piece.isEmpty else { return stream.pendingCount + unsent }
        stream.add(
            piece, owner: owner, isLast: isLast, http11: owed[position].form.isHTTP11, unsent: unsent, context)
        if isLast { owed[position].alarm = DeadlineWheel.never }
        if stream.lags(unsent: unsent, context) { mayLag = true }
        if position == 0 || mayLag { context.settleLater(self) }
        return stream.pendingCount + unsent
    }

    /// True at the end of a turn if the peer is too far behind with a stream.
    func lags(_ context: LoopContext) -> Bool {
        guard mayLag else { return false }
        mayLag = false
        return owed.indices.contains { position in
            guard let stream = owed[position].stream else { return false }
            return stream.lags(unsent: unsentBytes(of: stream, at: position), context)
        }
    }

    /// Asks to call the handler, once, when all of a body that has come is sent.
    func whenDrained(_ ticket: Ticket, _ context: LoopContext) {
        guard let (position, stream) = stream(ticket, context), !stream.hasEnded, stream.drainWish == .none else {
            return
        }
        stream.drainWish = .asked
        if position == 0 { context.settleLater(self) }
    }

    /// Has the handler called in the next batch if all is sent, so that one with much to send leaves the others turns.
    func noteDrained(_ context: LoopContext) {
        guard let stream = owed.first?.stream, stream.drainWish == .asked, isDrained(stream, at: 0) else { return }
        stream.drainWish = .granted
        context.drained.append(ticket(firstNumber))
    }

    func callDrained(_ ticket: Ticket, _ context: LoopContext) {
        guard let (position, stream) = stream(ticket, context), stream.drainWish == .granted else { return }
        // More has come meanwhile.
        guard isDrained(stream, at: position) else { return stream.drainWish = .asked }
        stream.drainWish = .none
        context.handler.drained(ticket)
    }

    private func stream(_ ticket: Ticket, _ context: LoopContext) -> (Int, AnswerStream)? {
        guard let position = position(ticket, context), let stream = owed[position].stream else { return nil }
        return (position, stream)
    }

    private func isDrained(_ stream: AnswerStream, at position: Int) -> Bool {
        stream.hasBegun && !stream.hasEnded && stream.pendingCount == 0 && unsentBytes(of: stream, at: position) == 0
    }

    /// Nothing else is unsent once a stream has begun.
    private func unsentBytes(of stream: AnswerStream, at position: Int) -> Int {
        position == 0 && stream.hasBegun ? unsent?.count ?? 0 : 0
    }

    /// Renders what has come of the first owed answer, its head first. Returns true if that was the end of it.
    func renderStream(_ stream: AnswerStream, _ context: LoopContext) -> Bool {
        if !stream.hasBegun {
            // What precedes it goes first: it does not count as the reader's lag.
            flush(context)
            guard phase == .open, unsent == nil else { return false }
            beginStream(stream, context)
        }
        guard stream.pendingCount > 0 else { return stream.hasEnded }
        if !context.output.isEmpty, let text = stream.takeText(upTo: Self.joinedBytes) {
            context.output.append(contentsOf: text)
        } else {
            flush(context)
            guard phase == .open, unsent == nil else { return false }
            send(stream.takeQueue(context), context)
        }
        return stream.hasEnded
    }

    private func beginStream(_ stream: AnswerStream, _ context: LoopContext) {
        guard let answer = owed.first, let response = answer.response else { return }
        stream.hasBegun = true
        // Before HTTP/1.1 the end of such a body is the end of the connection.
        if !answer.form.isHTTP11 { takesRequests = false }
        ResponseWriter.appendStreamHead(
            response, to: &context.output, omitsBody: answer.form.isHead,
            keepAlive: keepsAlive(after: response, answer.form, isLast: owed.count == 1, context),
            http11: answer.form.isHTTP11, date: context.date,
            additionalFields: context.moreFields[answer.form.fields])
        // Its fields are not needed any more, and a stream may last for days.
        owed[0].response = Response(status: response.status)
    }
}
