internal import HTTPWire
internal import Platform

/// The properties of a request that determine how its answer is written.
struct AnswerForm: Equatable, BitwiseCopyable {
    private let storedFields: UInt32
    let isHead: Bool
    let isHTTP11: Bool
    /// False if the connection closes after the answer.
    let keepsAlive: Bool

    /// The index in the handler's `moreFields` of the additional header fields of the answer.
    var fields: Int { Int(storedFields) }

    init(of head: RequestHead, fields: Int) {
        isHead = head.method == .head
        isHTTP11 = head.isHTTP11
        keepsAlive = head.keepsAlive
        storedFields = UInt32(fields)
    }

    /// Makes the form of an answer to a request that the server cannot process. The connection closes after the answer.
    init(ofRejected head: RequestHead?, fields: Int) {
        isHead = head?.method == .head
        isHTTP11 = true
        keepsAlive = false
        storedFields = UInt32(fields)
    }
}

/// The answer to a request that the connection has not answered completely.
struct PendingAnswer {
    // The order of the properties leaves no padding, because every waiting connection has a value of this type.
    /// Nil until the handler has answered the request or begun a stream.
    var response: Response?
    /// The body, if the handler sends it in pieces; otherwise nil.
    var stream: AnswerStream?
    /// The time of the alarm that the handler set for the request.
    var alarm = DeadlineWheel.never
    let form: AnswerForm
    /// True if the connection processes no further request until the answer is complete.
    var isAlone = false

    init(_ form: AnswerForm, _ response: Response? = nil) {
        self.form = form
        self.response = response
    }

    /// True if the handler has provided the whole answer.
    var isComplete: Bool {
        // A pattern match, because a comparison with nil would copy the response.
        guard case .some = response else { return false }
        return stream?.hasEnded ?? true
    }
}

// MARK: Output

// A connection sends all answers of one event-loop iteration in one write, and keeps the bytes that the kernel does not
// accept.

extension Connection {
    /// Stores the answer to an earlier request. The event loop sends the answer at the end of its iteration, once all
    /// earlier answers of the connection are complete.
    ///
    /// - Returns: true if the handler may push more of the answer; false if the answer is complete or was not expected.
    func respond(_ ticket: Ticket, _ response: Response, isStream: Bool, _ context: LoopContext) -> Bool {
        guard let position = position(ticket, context) else { return false }
        // Nil if the request was answered before.
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
        // The stream sends this beginning of the body in one piece with the parts that follow in the same iteration.
        answer.response?.body = []
        stream.add(
            response.body, owner: response.owner, isLast: false, http11: answer.form.isHTTP11, unsent: 0, context)
    }

    /// Returns the index of a ticket in `owed`; nil if the answer is no longer expected.
    ///
    /// While `handle` runs for a request, the request has no entry yet. The first call with its ticket appends the
    /// entry.
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

    /// Renders the answers that are ready, in order. Stops at the first answer that is not ready, and while bytes are
    /// unsent.
    func renderReady(_ context: LoopContext) {
        guard phase == .open else { return }
        while unsent == nil, var answer = owed.popFirst() {
            if answer.stream == nil, let response = answer.response.take() {
                render(response, answer.form, isLast: owed.isEmpty, context)
            } else {
                owed.prepend(answer)
                guard let stream = answer.stream, renderStream(stream, context) else { return }
                // If sending failed, the connection has closed and `owed` is empty.
                guard phase == .open else { return }
                // An HTTP/1.0 client would read a further answer as a part of this body, because only the close ends
                // the body.
                if !answer.form.isHTTP11 { callOff(from: 1, context) }
                _ = owed.popFirst()
            }
            if context.output.count >= context.limits.sendBufferBytes { flush(context) }
            guard phase == .open else { return }
        }
        // An idle connection does not keep the memory that a burst of requests needed.
        if owed.isEmpty, owed.capacity > Self.keptCapacity { owed = [] }
    }

    private static let keptCapacity = 4

    /// Renders a response into the loop's output buffer. A long body is not copied into the buffer but sent from its
    /// own memory.
    func render(_ response: Response, _ form: AnswerForm, isLast: Bool, _ context: LoopContext) {
        let isLong = response.body.count >= OutputQueue.sharedLength && !form.isHead
        let keepsAlive = keepsAlive(after: response, form, isLast: isLast, context)
        ResponseWriter.append(
            response, to: &context.output, omitsBody: form.isHead || isLong, keepAlive: keepsAlive,
            http11: form.isHTTP11, date: context.date, additionalFields: context.moreFields[form.fields])
        guard isLong, response.status != 304, response.status != 204 else { return }
        flush(context)
        send(response.body, owner: response.owner, context)
    }

    /// Stops accepting requests if the answer is one after which the connection closes. Returns false if the answer
    /// must carry `Connection: close`. Only the last pending answer carries it, so that every accepted request still
    /// gets its answer.
    func keepsAlive(
        after response: Response, _ form: AnswerForm, isLast: Bool, _ context: LoopContext
    ) -> Bool {
        if !form.keepsAlive || response.closes || context.isStopping { takesRequests = false }
        return takesRequests || !isLast
    }

    /// Sends the unsent queue, or the loop's output buffer if there is no queue. Keeps the bytes that the kernel does
    /// not accept.
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

    /// Appends bytes to the unsent queue and sends them if the queue was empty. Keeps the bytes that the kernel does
    /// not accept.
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

    /// Handles the result of a joint sending, which is one batched send for several connections.
    ///
    /// - Parameter rest: the bytes that the kernel did not accept; nil if the send failed, which closes the connection.
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
