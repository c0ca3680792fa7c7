import HTTPWire
import Platform

/// How a connection sends: all answers of a turn in one write, and only what found no room is kept.
extension Connection {
    /// The answer to an earlier request; sent when the batch ends and those before it have been given. False if nothing
    /// more can come of it: there was no such answer to give, or it is complete with this.
    func respond(_ ticket: Ticket, _ response: Response, isStream: Bool, _ context: LoopContext) -> Bool {
        guard let position = position(ticket, context), owed[position].response == nil else { return false }
        owed[position].response = response
        if isStream {
            let stream = AnswerStream(hasEnded: owed[position].form.isHead)
            owed[position].stream = stream
            if !stream.hasEnded {
                // With what follows in this batch it is one piece.
                owed[position].response?.body = []
                stream.add(
                    response.body.span, isLast: false, http11: owed[position].form.isHTTP11, unsent: 0, context)
            }
        }
        if owed[position].isComplete { owed[position].alarm = DeadlineWheel.never }
        if position == 0 { context.settleLater(self) }
        return !owed[position].isComplete
    }

    /// Where the answer stands among those owed; nil if it is owed no more. The one whose request the handler looks at
    /// is owed from the moment that it does something about it.
    func position(_ ticket: Ticket, _ context: LoopContext) -> Int? {
        guard phase == .open else { return nil }
        if isOffering, ticket.number == nextNumber, let form = context.offered {
            context.offered = nil
            owed.append(OwedAnswer(form))
            nextNumber &+= 1
        }
        let position = Int(ticket.number &- (nextNumber &- UInt32(owed.count)))
        return position < owed.count ? position : nil
    }

    /// Renders the owed answers that have come, up to the first that has not or to the bound of unsent bytes.
    func renderReady(_ context: LoopContext) {
        guard !owed.isEmpty, phase == .open else { return }
        var count = 0
        while count < owed.count, unsent.isEmpty, let response = owed[count].response {
            if let stream = owed[count].stream {
                let hasEnded = renderStream(stream, at: count, context)
                // What was sent of it may have found the peer gone, and with that nothing is owed.
                guard phase == .open else { return }
                guard hasEnded else { break }
                // Whatever followed would be taken for more of the body.
                if !owed[count].form.isHTTP11 { callOff(from: count + 1, context) }
            } else {
                render(response, owed[count].form, isLast: count + 1 == owed.count, context)
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

    /// Into the loop's output buffer.
    func render(_ response: Response, _ form: AnswerForm, isLast: Bool, _ context: LoopContext) {
        ResponseWriter.append(
            inForm(response, form, isLast: isLast, context), to: &context.output, head: form.isHead, keepAlive: true,
            http11: form.isHTTP11, date: context.date, more: context.moreFields[form.fields])
    }

    /// The answer as it is to be rendered. `isLast`: nothing further is owed. A connection that is to close says so in its
    /// last answer, so that requests which have taken effect are answered.
    func inForm(_ response: Response, _ form: AnswerForm, isLast: Bool, _ context: LoopContext) -> Response {
        if !form.keepsAlive || response.closes || context.isStopping { takesRequests = false }
        var response = response
        response.closes = !takesRequests && isLast
        return response
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
        guard let count = socket.send(context.output.span) else { return close(context) }
        if count < context.output.count { keep(Array(context.output[count...]), from: 0, context) }
        context.emptyOutput()
    }

    /// Something was sent, before which there was nothing to be sent; keeps what of it found no room.
    func haveSent(_ outcome: Int?, rest: ArraySlice<UInt8>, _ context: LoopContext) {
        guard outcome != nil else { return close(context) }
        if !rest.isEmpty { keep(Array(rest), from: 0, context) }
    }

    /// Writes these bytes, before which there is nothing to be sent; keeps them if they find no room.
    func send(_ bytes: [UInt8], _ context: LoopContext) {
        guard let count = socket.send(bytes.span) else { return close(context) }
        if count < bytes.count { keep(bytes, from: count, context) }
    }

    private func keep(_ bytes: [UInt8], from start: Int, _ context: LoopContext) {
        unsent = bytes
        unsentStart = start
        deadlineKind = .unread
        setDeadline(context.now &+ context.limits.unreadTime, context)
    }

    private func sendUnsent(_ context: LoopContext) {
        guard let count = socket.send(unsent.span.extracting(unsentStart...)) else { return close(context) }
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
