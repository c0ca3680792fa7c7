internal import HTTPWire
internal import Platform

/// The form of an answer, as its request asks for it.
struct AnswerForm: Equatable, BitwiseCopyable {
    private let storedFields: UInt32
    let isHead: Bool
    let isHTTP11: Bool
    /// False if the connection closes after it.
    let keepsAlive: Bool

    /// The index of the handler's `moreFields` that it has.
    var fields: Int { Int(storedFields) }

    init(of head: RequestHead, fields: Int) {
        isHead = head.method == .head
        isHTTP11 = head.isHTTP11
        keepsAlive = head.keepsAlive
        storedFields = UInt32(fields)
    }

    /// Makes the form of an answer after which the connection closes, as the request could not be taken.
    init(ofRejected head: RequestHead?, fields: Int) {
        isHead = head?.method == .head
        isHTTP11 = true
        keepsAlive = false
        storedFields = UInt32(fields)
    }
}

/// An answer that a connection owes.
struct PendingAnswer {
    // In an order that leaves no gaps: there is one of these for each connection that waits.
    /// Nil until the handler has answered, or begun to.
    var response: Response?
    /// The body, if it comes in pieces.
    var stream: AnswerStream?
    /// When the handler wants to be reminded of it.
    var alarm = DeadlineWheel.never
    let form: AnswerForm
    /// True if no further request is taken until this is complete.
    var isAlone = false

    init(_ form: AnswerForm, _ response: Response? = nil) {
        self.form = form
        self.response = response
    }

    /// True if the handler has given all of it.
    var isComplete: Bool {
        // Without a copy of the response, which a comparison with nil would make.
        guard case .some = response else { return false }
        return stream?.hasEnded ?? true
    }
}

// MARK: Output: all answers of a turn go out in one write, and only what finds no room is kept.

extension Connection {
    /// Takes the answer to an earlier request. It is sent when the turn ends and those before it are complete.
    ///
    /// - Returns: false if nothing more can come of it: no such answer is owed, or it is complete with this.
    func respond(_ ticket: Ticket, _ response: Response, isStream: Bool, _ context: LoopContext) -> Bool {
        guard let position = position(ticket, context) else { return false }
        // Nil if it was answered before.
        let isComplete: Bool? = owed.update(position) { answer in
            guard case .none = answer.response else { return nil }
            answer.response = response
            if isStream { beginStream(of: &answer, context) }
            let isComplete = answer.isComplete
            if isComplete { answer.alarm = DeadlineWheel.never }
            return isComplete
        }
        guard let isComplete else { return false }
        if position == 0 { context.settleLater(self) }
        return !isComplete
    }

    private func beginStream(of answer: inout PendingAnswer, _ context: LoopContext) {
        let stream = AnswerStream(hasEnded: answer.form.isHead)
        answer.stream = stream
        guard !stream.hasEnded, let response = answer.response else { return }
        // With what follows in this batch it is one piece.
        answer.response?.body = []
        stream.add(
            response.body, owner: response.owner, isLast: false, http11: answer.form.isHTTP11, unsent: 0, context)
    }

    /// Returns the position among the owed answers; nil if it is owed no more. The answer to the request that the handler
    /// looks at is owed from the moment that the handler acts on it.
    func position(_ ticket: Ticket, _ context: LoopContext) -> Int? {
        guard phase == .open else { return nil }
        if isOffering, ticket.number == nextNumber, let form = context.offered {
            context.offered = nil
            owed.append(PendingAnswer(form))
            nextNumber &+= 1
        }
        let position = Int(ticket.number &- firstNumber)
        return position < owed.count ? position : nil
    }

    /// Renders the owed answers that have come, up to the first that has not or to the bound of unsent bytes.
    func renderReady(_ context: LoopContext) {
        guard phase == .open else { return }
        while unsent == nil, var answer = owed.popFirst() {
            if answer.stream == nil, let response = answer.response.take() {
                render(response, answer.form, isLast: owed.isEmpty, context)
            } else {
                owed.prepend(answer)
                guard let stream = answer.stream, renderStream(stream, context) else { return }
                // Sending may have found the peer gone, and then nothing is owed.
                guard phase == .open else { return }
                // Whatever followed would be taken for more of the body.
                if !answer.form.isHTTP11 { callOff(from: 1, context) }
                _ = owed.popFirst()
            }
            if context.output.count >= context.limits.sendBufferBytes { flush(context) }
            guard phase == .open else { return }
        }
        // A connection that idles does not keep room for a burst of requests.
        if owed.isEmpty, owed.capacity > Self.keptCapacity { owed = [] }
    }

    private static let keptCapacity = 4

    /// Renders into the loop's output buffer. A long body is not copied there, but sent from where it is.
    func render(_ response: Response, _ form: AnswerForm, isLast: Bool, _ context: LoopContext) {
        let isLong = response.body.count >= OutputQueue.sharedLength && !form.isHead
        let keepsAlive = keepsAlive(after: response, form, isLast: isLast, context)
        ResponseWriter.append(
            response, to: &context.output, head: form.isHead || isLong, keepAlive: keepsAlive, http11: form.isHTTP11,
            date: context.date, more: context.moreFields[form.fields])
        guard isLong, response.status != 304, response.status != 204 else { return }
        flush(context)
        send(response.body, owner: response.owner, context)
    }

    /// Takes no more requests after an answer that ends the connection. Returns false if the answer says so: the last does
    /// that the connection owes, so that requests which have taken effect are answered.
    func keepsAlive(
        after response: Response, _ form: AnswerForm, isLast: Bool, _ context: LoopContext
    ) -> Bool {
        if !form.keepsAlive || response.closes || context.isStopping { takesRequests = false }
        return takesRequests || !isLast
    }

    /// Sends what waits, or else the loop's output buffer, and keeps what finds no room.
    func flush(_ context: LoopContext) {
        guard phase == .open else { return }
        if let unsent {
            send(unsent, context)
        } else if !context.output.isEmpty {
            guard let count = socket.send(context.output.span) else { return close(context) }
            if count < context.output.count { keep(context.output.span.extracting(count...), context) }
            context.emptyOutput()
        }
    }

    /// Sends bytes behind all that waits, and keeps what finds no room.
    func send(_ bytes: [UInt8], owner: (any AnyObject & Sendable)? = nil, _ context: LoopContext) {
        guard phase == .open else { return }
        let queue = unsent ?? OutputQueue(context)
        queue.append(bytes, owner: owner)
        if unsent == nil { send(queue, context) }
    }

    /// Sends what the kernel takes of a queue, and keeps the rest.
    func send(_ queue: OutputQueue, _ context: LoopContext) {
        guard let count = queue.send(on: socket) else { return close(context) }
        let isNew = unsent == nil
        unsent = queue.isEmpty ? nil : queue
        if unsent != nil, isNew || count > 0 { setDeadline(.send, in: context.limits.sendTimeout, context) }
    }

    /// Keeps what a joint sending did not send; nil closes.
    func haveSent(rest: ArraySlice<UInt8>?, _ context: LoopContext) {
        guard let rest else { return close(context) }
        if !rest.isEmpty { keep(rest.span, context) }
    }

    private func keep(_ bytes: Span<UInt8>, _ context: LoopContext) {
        let queue = OutputQueue(context)
        queue.append(copying: bytes)
        unsent = queue
        setDeadline(.send, in: context.limits.sendTimeout, context)
    }
}
