import HTTPWire

/// How a connection sends: all answers of a turn in one write, and only what found no room is kept.
extension Connection {
    /// The answer to an earlier request; sent when the batch ends and those before it have been given.
    func respond(_ ticket: Ticket, _ response: Response, _ stream: AnswerStream?, _ context: LoopContext) {
        guard let position = position(ticket), owed[position].response == nil else { return }
        owed[position].response = response
        owed[position].stream = stream
        if ticket.number == alarmNumber { alarm = DeadlineWheel.never }
        if position == 0 { context.settleLater(self) }
    }

    /// A piece of a body that has been begun; `isLast`: with it the body is complete.
    func push(_ ticket: Ticket, _ piece: Span<UInt8>, isLast: Bool, _ context: LoopContext) {
        guard let position = position(ticket), let stream = owed[position].stream, !stream.hasEnded else { return }
        let answer = owed[position]
        let waited = stream.pending.count + unsent.count - unsentStart
        if !answer.isHead {
            ResponseWriter.appendChunk(piece, to: &stream.pending, http11: answer.isHTTP11)
        }
        if isLast {
            stream.hasEnded = true
            if answer.isHTTP11, !answer.isHead {
                ResponseWriter.lastChunk.withUTF8Buffer { stream.pending.append(contentsOf: $0) }
            }
        }
        let waits = stream.pending.count + unsent.count - unsentStart
        stream.added = waited == 0 ? 0 : stream.added + (waits - waited)
        isOverrun = isOverrun || min(stream.added, waits) > context.limits.streamBytes
        if position == 0 || isOverrun { context.settleLater(self) }
    }

    /// Has the handler told, once, when all that was pushed is with the kernel.
    func whenDrained(_ ticket: Ticket, _ context: LoopContext) {
        guard let position = position(ticket), let stream = owed[position].stream, !stream.hasEnded else { return }
        stream.isAwaited = true
        context.settleLater(self)
    }

    func tellDrained(_ context: LoopContext) {
        guard phase == .open, unsent.isEmpty, let stream = owed.first?.stream, stream.isAwaited, stream.pending.isEmpty
        else { return }
        stream.isAwaited = false
        context.handler.drained(ticket(nextNumber &- UInt32(owed.count)))
    }

    /// Whether something is still to come from the handler for a request.
    func owes(_ ticket: Ticket) -> Bool {
        position(ticket).map { !owed[$0].isComplete } ?? false
    }

    /// Where the answer stands among those owed; nil if it is owed no more.
    private func position(_ ticket: Ticket) -> Int? {
        let position = Int(ticket.number &- (nextNumber &- UInt32(owed.count)))
        return phase == .open && position < owed.count ? position : nil
    }

    /// Renders the owed answers that have come, up to the first that has not or to the bound of unsent bytes.
    func renderReady(_ context: LoopContext) {
        guard !owed.isEmpty, phase == .open else { return }
        var count = 0
        while count < owed.count, unsent.isEmpty, let response = owed[count].response {
            let isLast = count + 1 == owed.count
            if let stream = owed[count].stream {
                renderStream(stream, response, owed[count], isLast: isLast, context)
                guard stream.hasEnded else { break }
                // Whatever followed would be taken for more of the body.
                if !owed[count].isHTTP11 { callOff(from: count + 1, context) }
            } else {
                render(response, owed[count], isLast: isLast, context)
            }
            count += 1
            if context.output.count >= context.limits.unsentBytes { flush(context) }
            guard phase == .open else { return }
        }
        if count > 0 { owed.removeSubrange(..<count) }
        // Room for a burst of requests is not kept by a connection that idles.
        if owed.isEmpty, owed.capacity > Self.keptOwed { owed = [] }
    }

    private static let keptOwed = 4

    /// What has come of a body since it was last looked at; its head first.
    private func renderStream(
        _ stream: AnswerStream, _ response: Response, _ answer: OwedAnswer, isLast: Bool, _ context: LoopContext
    ) {
        if !stream.hasBegun {
            stream.hasBegun = true
            // Before HTTP/1.1 the end of a body that comes bit by bit is the end of the connection.
            if !answer.keepsAlive || response.closes || context.isStopping || !answer.isHTTP11 { takesRequests = false }
            var response = response
            response.closes = !takesRequests && isLast
            ResponseWriter.appendStreamHead(
                response, to: &context.output, head: answer.isHead, keepAlive: true, http11: answer.isHTTP11,
                date: context.date)
        }
        context.output.append(contentsOf: stream.pending)
        stream.pending = []
    }

    /// Into the loop's output buffer. `isLast`: nothing further is owed. A connection that is to close says so in its last
    /// answer, so that requests which have taken effect are answered.
    func render(_ response: Response, _ answer: OwedAnswer, isLast: Bool, _ context: LoopContext) {
        if !answer.keepsAlive || response.closes || context.isStopping { takesRequests = false }
        var response = response
        response.closes = !takesRequests && isLast
        ResponseWriter.append(
            response, to: &context.output, head: answer.isHead, keepAlive: true, http11: answer.isHTTP11,
            date: context.date)
    }

    /// Writes the loop's output buffer; keeps what finds no room.
    func flush(_ context: LoopContext) {
        guard phase == .open else { return }
        if !unsent.isEmpty {
            sendUnsent(context)
        } else if !context.output.isEmpty {
            sendOutput(context)
        }
    }

    private func sendOutput(_ context: LoopContext) {
        switch context.output.withUnsafeBytes({ socket.send($0) }) {
        case .failed: close(context)
        case .bytes(let count):
            if count < context.output.count {
                unsent = Array(context.output[count...])
                unsentStart = 0
                deadlineKind = .unread
                setDeadline(context.now &+ context.limits.unreadTime, context)
            }
            context.emptyOutput()
        }
    }

    private func sendUnsent(_ context: LoopContext) {
        switch unsent.withUnsafeBytes({ socket.send(UnsafeRawBufferPointer(rebasing: $0[unsentStart...])) }) {
        case .failed: close(context)
        case .bytes(let count):
            guard count > 0 else { return }
            unsentStart += count
            if unsentStart == unsent.count {
                unsent = []
                unsentStart = 0
            } else {
                setDeadline(context.now &+ context.limits.unreadTime, context)
            }
        }
    }
}
