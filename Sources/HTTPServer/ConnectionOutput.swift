internal import HTTPWire
internal import Platform

/// The properties of a request that determine how its answer is written.
struct AnswerFormat: Equatable, BitwiseCopyable {
    /// `fieldBlockIndex` in 32 bits, so that a pending answer is small.
    private let storedFieldBlockIndex: UInt32
    /// True if the method is HEAD, whose answer has no body.
    let isHead: Bool
    let isHTTP11: Bool
    /// False if the connection closes after the answer.
    let keepsAlive: Bool

    /// The index of the block of the handler's `additionalFields` that the loop adds to the answer.
    var fieldBlockIndex: Int { Int(storedFieldBlockIndex) }

    init(of head: RequestHead, fieldBlockIndex: Int) {
        isHead = head.method == .head
        isHTTP11 = head.isHTTP11
        keepsAlive = head.keepsAlive
        storedFieldBlockIndex = UInt32(fieldBlockIndex)
    }

    /// Makes the format of the answer to a rejected request. The connection closes after this answer. `head` is nil if
    /// the connection has not received the head completely.
    init(ofRejected head: RequestHead?, fieldBlockIndex: Int) {
        isHead = head?.method == .head
        isHTTP11 = true
        keepsAlive = false
        storedFieldBlockIndex = UInt32(fieldBlockIndex)
    }
}

/// The answer to a request that the connection has not answered completely.
struct PendingAnswer {
    // The order of the properties leaves no padding, because every waiting connection has a value of this type.
    /// Nil until the handler has answered the request or begun a stream.
    var response: Response?
    /// The body, if the handler sends it in pieces; otherwise nil.
    var stream: AnswerStream?
    /// The time of the alarm, a call of the handler's `alarm` that the handler has requested; `never` if there is no
    /// alarm.
    var alarm = DeadlineWheel.never
    let format: AnswerFormat
    /// True if the connection processes no further request until the answer is complete.
    var blocksNextRequest = false

    init(_ format: AnswerFormat, _ response: Response? = nil) {
        self.format = format
        self.response = response
    }

    /// True if the handler has provided the whole answer.
    var isComplete: Bool {
        // This is a pattern match, because a comparison with nil would copy the response.
        guard case .some = response else { return false }
        return stream?.hasEnded ?? true
    }
}

// A connection collects the answers of one iteration of the event loop, and usually sends them with one system call. It
// keeps the bytes that the kernel does not accept.

extension Connection {
    /// Stores the answer to a request. The connection sends the answer at the end of the iteration if all earlier
    /// answers are complete.
    ///
    /// - Returns: true if the handler may push further pieces of the answer; false if the answer is complete, if the
    ///   request was answered before, or if the connection is closed.
    func respond(_ ticket: Ticket, _ response: Response, isStream: Bool, _ context: LoopContext) -> Bool {
        guard let position = position(ticket, context) else { return false }
        // Nil if the request was answered before.
        let isComplete: Bool? = pendingAnswers.update(position) { answer in
            guard case .none = answer.response else { return nil }
            answer.response = response
            if isStream { beginStream(of: &answer, context) }
            let isComplete = answer.isComplete
            if isComplete { answer.alarm = DeadlineWheel.never }
            return isComplete
        }
        guard let isComplete else { return false }
        if position == 0 { context.schedule(self) }
        return !isComplete
    }

    private func beginStream(of answer: inout PendingAnswer, _ context: LoopContext) {
        let stream = AnswerStream(hasEnded: answer.format.isHead)
        answer.stream = stream
        guard !stream.hasEnded, let response = answer.response else { return }
        // Move the first part of the body to the stream, which sends it together with later pieces of the same
        // iteration.
        answer.response?.body = []
        stream.append(
            response.body, owner: response.bodyOwner, isLast: false, http11: answer.format.isHTTP11, unsent: 0, context)
    }

    /// Returns the index of the answer to a request in `pendingAnswers`; nil if the answer was sent or dropped.
    ///
    /// While the handler's `handle` runs for a request, `pendingAnswers` has no entry for the request. The first call
    /// with the ticket of this request appends the entry.
    func position(_ ticket: Ticket, _ context: LoopContext) -> Int? {
        guard phase == .open else { return nil }
        if isHandlingRequest, ticket.number == nextNumber, let format = context.currentFormat {
            context.currentFormat = nil
            pendingAnswers.append(PendingAnswer(format))
            nextNumber &+= 1
        }
        let position = Int(ticket.number &- firstNumber)
        return position < pendingAnswers.count ? position : nil
    }

    /// Renders complete answers and ready parts of streams, in order. Stops at an incomplete answer or at unsent bytes.
    func renderReadyAnswers(_ context: LoopContext) {
        guard phase == .open else { return }
        while unsent == nil, var answer = pendingAnswers.popFirst() {
            if answer.stream == nil, let response = answer.response.take() {
                render(response, answer.format, isLastPending: pendingAnswers.isEmpty, context)
            } else {
                pendingAnswers.prepend(answer)
                guard let stream = answer.stream, renderStream(stream, context) else { return }
                // If sending failed, the connection has closed and `pendingAnswers` is empty.
                guard phase == .open else { return }
                // In HTTP/1.0, only the close of the connection ends the body of a stream, so the client would read a
                // further answer as a part of the body.
                if !answer.format.isHTTP11 { dropAnswers(from: 1, context) }
                _ = pendingAnswers.popFirst()
            }
            if context.output.count >= context.limits.sendBufferBytes { flush(context) }
            guard phase == .open else { return }
        }
        // Release the memory that a burst of requests needed, because the connection may now be idle for a long time.
        if pendingAnswers.isEmpty, pendingAnswers.capacity > Self.maximumIdleCapacity { pendingAnswers = [] }
    }

    /// The maximum capacity of `pendingAnswers` of an idle connection.
    private static let maximumIdleCapacity = 4

    /// Renders a response into the loop's output buffer. A body of at least `OutputQueue.sharedLength` bytes is not
    /// copied to this buffer, but sent from its own memory.
    func render(_ response: Response, _ format: AnswerFormat, isLastPending: Bool, _ context: LoopContext) {
        let isLong = response.body.count >= OutputQueue.sharedLength && !format.isHead
        let keepsAlive = decideKeepAlive(after: response, format, isLastPending: isLastPending, context)
        ResponseWriter.append(
            response, to: &context.output, omitsBody: format.isHead || isLong, keepAlive: keepsAlive,
            http11: format.isHTTP11, date: context.date,
            additionalFields: context.additionalFields[format.fieldBlockIndex])
        // An answer with the status 304 or 204 has no body.
        guard isLong, response.status != 304, response.status != 204 else { return }
        flush(context)
        send(response.body, owner: response.bodyOwner, context)
    }

    /// Sets `acceptsRequests` to false if the connection must close after the answer. Returns false if the answer must
    /// contain `Connection: close`. Only the last pending answer contains this field, so that every request gets its
    /// answer.
    func decideKeepAlive(
        after response: Response, _ format: AnswerFormat, isLastPending: Bool, _ context: LoopContext
    ) -> Bool {
        if !format.keepsAlive || response.closes || context.isStopping { acceptsRequests = false }
        return acceptsRequests || !isLastPending
    }

    /// Sends the queue `unsent`, or the output buffer if there is no queue. Keeps bytes that the kernel does not
    /// accept.
    func flush(_ context: LoopContext) {
        guard phase == .open else { return }
        if let unsent {
            send(unsent, context)
        } else if !context.output.isEmpty {
            guard let count = socket.send(context.output.span) else { return close(context) }
            if count < context.output.count { keepUnsent(context.output.span.extracting(count...), context) }
            context.emptyOutput()
        }
    }

    /// Appends bytes to the queue `unsent`. If there is no queue, makes a queue and sends its bytes. `owner` holds the
    /// memory reservation of the bytes.
    func send(_ bytes: [UInt8], owner: (any AnyObject & Sendable)? = nil, _ context: LoopContext) {
        guard phase == .open else { return }
        let queue = unsent ?? OutputQueue(context)
        queue.append(bytes, owner: owner)
        if unsent == nil { send(queue, context) }
    }

    /// Sends as much of a queue as the kernel accepts, and keeps the remaining bytes.
    func send(_ queue: OutputQueue, _ context: LoopContext) {
        guard let count = queue.send(on: socket) else { return close(context) }
        let isNew = unsent == nil
        unsent = queue.isEmpty ? nil : queue
        if unsent != nil, isNew || count > 0 { setDeadline(.send, in: context.limits.sendTimeout, context) }
    }

    /// Handles the result of a `ParallelSend`, which sends the answers of many connections on several threads.
    /// `unsentPart` has the bytes that the kernel did not accept, and is nil if the send failed.
    func parallelSendCompleted(unsentPart: ArraySlice<UInt8>?, _ context: LoopContext) {
        guard let unsentPart else { return close(context) }
        if !unsentPart.isEmpty { keepUnsent(unsentPart.span, context) }
    }

    private func keepUnsent(_ bytes: Span<UInt8>, _ context: LoopContext) {
        let queue = OutputQueue(context)
        queue.append(copying: bytes)
        unsent = queue
        setDeadline(.send, in: context.limits.sendTimeout, context)
    }
}
