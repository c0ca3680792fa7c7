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
    private(set) var pending: [UInt8] = []
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
    func add(_ piece: Span<UInt8>, isLast: Bool, http11: Bool, unsent: Int, _ context: LoopContext) {
        let waiting = pending.count + unsent
        behind = min(behind, waiting)
        // The peer has caught up since: what comes now begins another lag.
        if behind <= context.limits.streamBytes { lagStart = nil }
        if waiting == 0 { freeBatch = context.batch }
        if pending.isEmpty, !piece.isEmpty { pending.reserveCapacity(piece.count + Self.frameSize) }
        let start = pending.count
        ResponseWriter.appendChunk(piece, to: &pending, http11: http11)
        if isLast {
            hasEnded = true
            if http11 { ResponseWriter.lastChunk.withUTF8Buffer { pending.append(contentsOf: $0) } }
        }
        if context.batch != freeBatch { behind += pending.count - start }
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
        min(behind, pending.count + unsent) > limit
    }

    func takePending() -> [UInt8] {
        defer { pending = [] }
        return pending
    }
}

// MARK: Streams

extension Connection {
    /// Up to so many bytes are copied to go out with what precedes them.
    private static let joinedBytes = 16 * 1024

    /// Adds to a body that has begun. Returns how many bytes of it the kernel has not taken.
    func push(_ ticket: Ticket, _ piece: Span<UInt8>, isLast: Bool, _ context: LoopContext) -> Int {
        guard let (position, stream) = stream(ticket, context), !stream.hasEnded else { return 0 }
        let unsent = unsentBytes(of: stream, at: position)
        guard isLast || !piece.isEmpty else { return stream.pending.count + unsent }
        stream.add(piece, isLast: isLast, http11: owed[position].form.isHTTP11, unsent: unsent, context)
        if isLast { owed[position].alarm = DeadlineWheel.never }
        if stream.lags(unsent: unsent, context) { mayLag = true }
        if position == 0 || mayLag { context.settleLater(self) }
        return stream.pending.count + unsent
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
        stream.hasBegun && !stream.hasEnded && stream.pending.isEmpty && unsentBytes(of: stream, at: position) == 0
    }

    /// Nothing else is unsent once a stream has begun.
    private func unsentBytes(of stream: AnswerStream, at position: Int) -> Int {
        position == 0 && stream.hasBegun ? unsent.count - unsentStart : 0
    }

    /// Renders what has come of the first owed answer, its head first. Returns true if that was the end of it.
    func renderStream(_ stream: AnswerStream, _ context: LoopContext) -> Bool {
        if !stream.hasBegun {
            // What precedes it goes first: it does not count as the reader's lag.
            flush(context)
            guard phase == .open, unsent.isEmpty else { return false }
            beginStream(stream, context)
        }
        guard !stream.pending.isEmpty else { return stream.hasEnded }
        if context.output.isEmpty || stream.pending.count > Self.joinedBytes {
            flush(context)
            guard phase == .open, unsent.isEmpty else { return false }
            send(stream.takePending(), context)
        } else {
            context.output.append(contentsOf: stream.takePending())
        }
        return stream.hasEnded
    }

    private func beginStream(_ stream: AnswerStream, _ context: LoopContext) {
        guard let answer = owed.first, let response = answer.response else { return }
        stream.hasBegun = true
        // Before HTTP/1.1 the end of such a body is the end of the connection.
        if !answer.form.isHTTP11 { takesRequests = false }
        ResponseWriter.appendStreamHead(
            inForm(response, answer.form, isLast: owed.count == 1, context), to: &context.output,
            head: answer.form.isHead, keepAlive: true, http11: answer.form.isHTTP11, date: context.date,
            more: context.moreFields[answer.form.fields])
        // Its fields are not needed any more, and a stream may last for days.
        owed[0].response = Response(status: response.status)
    }
}
