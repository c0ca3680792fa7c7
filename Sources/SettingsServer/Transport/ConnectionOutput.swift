import HTTPWire

/// How a connection sends: all answers of a turn in one write, and only what found no room is kept.
extension Connection {
    /// The answer to an earlier request; sent when the batch ends and those before it have been given.
    func respond(_ ticket: Ticket, _ response: Response, _ context: LoopContext) {
        let position = Int(ticket.number &- (nextNumber &- UInt32(owed.count)))
        guard phase == .open, position < owed.count, owed[position].response == nil else { return }
        owed[position].response = response
        if position == 0 { context.settleLater(self) }
    }

    /// Renders the owed answers that have come, up to the first that has not or to the bound of unsent bytes.
    func renderReady(_ context: LoopContext) {
        guard !owed.isEmpty, phase == .open else { return }
        var count = 0
        while count < owed.count, unsent.isEmpty, let response = owed[count].response {
            render(response, owed[count], isLast: count + 1 == owed.count, context)
            count += 1
            if context.output.count >= context.limits.unsentBytes { flush(context) }
            guard phase == .open else { return }
        }
        if count > 0 { owed.removeSubrange(..<count) }
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
