import HTTPWire
internal import Platform

/// How a connection sends bodies that come bit by bit.
extension Connection {
    /// Up to so many bytes are copied to go out with what precedes them.
    private static let joinedBytes = 16 * 1024

    /// More of a body that has been begun. Returns what of it the kernel has not taken.
    func push(_ ticket: Ticket, _ piece: Span<UInt8>, isLast: Bool, _ context: LoopContext) -> Int {
        guard let position = position(ticket, context), let stream = owed[position].stream, !stream.hasEnded else {
            return 0
        }
        let unsent = unsentBytes(of: stream, at: position)
        guard isLast || !piece.isEmpty else { return stream.pending.count + unsent }
        stream.add(piece, isLast: isLast, http11: owed[position].form.isHTTP11, unsent: unsent, context)
        if isLast { owed[position].alarm = DeadlineWheel.never }
        if stream.lags(unsent: unsent, context) { mayLag = true }
        if position == 0 || mayLag { context.settleLater(self) }
        return stream.pending.count + unsent
    }

    /// At the end of a turn: whether the peer is too far behind with a stream.
    func lags(_ context: LoopContext) -> Bool {
        guard mayLag else { return false }
        mayLag = false
        return owed.indices.contains { position in
            guard let stream = owed[position].stream else { return false }
            return stream.lags(unsent: unsentBytes(of: stream, at: position), context)
        }
    }

    /// The handler wants to hear, once, when all of a body that has come is sent.
    func whenDrained(_ ticket: Ticket, _ context: LoopContext) {
        guard let position = position(ticket, context), let stream = owed[position].stream, !stream.hasEnded,
            stream.drainWish == .none
        else { return }
        stream.drainWish = .asked
        if position == 0 { context.settleLater(self) }
    }

    /// At the end of a turn: if all is sent, the handler is told in the next batch, so that one with much to send
    /// leaves the others their turns.
    func noteDrained(_ context: LoopContext) {
        guard let stream = owed.first?.stream, stream.drainWish == .asked, isDrained(stream, at: 0) else { return }
        stream.drainWish = .granted
        context.drained.append(ticket(nextNumber &- UInt32(owed.count)))
    }

    func tellDrained(_ ticket: Ticket, _ context: LoopContext) {
        guard let position = position(ticket, context), let stream = owed[position].stream,
            stream.drainWish == .granted
        else { return }
        // More has come meanwhile.
        guard isDrained(stream, at: position) else { return stream.drainWish = .asked }
        stream.drainWish = .none
        context.handler.drained(ticket)
    }

    private func isDrained(_ stream: AnswerStream, at position: Int) -> Bool {
        stream.hasBegun && !stream.hasEnded && stream.pending.isEmpty && unsentBytes(of: stream, at: position) == 0
    }

    /// Nothing else is unsent once a stream has begun.
    private func unsentBytes(of stream: AnswerStream, at position: Int) -> Int {
        position == 0 && stream.hasBegun ? unsent.count - unsentStart : 0
    }

    /// Renders what has come of a body since it was last looked at; its head first. True if that was the end of it.
    func renderStream(_ stream: AnswerStream, at position: Int, _ context: LoopContext) -> Bool {
        if !stream.hasBegun {
            // What precedes it goes first: it is not held against the stream's reader.
            flush(context)
            guard phase == .open, unsent.isEmpty else { return false }
            beginStream(stream, at: position, context)
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

    private func beginStream(_ stream: AnswerStream, at position: Int, _ context: LoopContext) {
        let answer = owed[position]
        guard var response = answer.response else { return }
        stream.hasBegun = true
        // Before HTTP/1.1 the end of a body that comes bit by bit is the end of the connection.
        if !answer.form.keepsAlive || response.closes || context.isStopping || !answer.form.isHTTP11 {
            takesRequests = false
        }
        response.closes = !takesRequests && position + 1 == owed.count
        ResponseWriter.appendStreamHead(
            response, to: &context.output, head: answer.form.isHead, keepAlive: true, http11: answer.form.isHTTP11,
            date: context.date, more: context.moreFields[answer.form.fields])
        // Its fields are not needed any more; a stream may last for days.
        owed[position].response = Response(status: response.status)
    }
}
