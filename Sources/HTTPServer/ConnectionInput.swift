internal import HTTPWire
internal import Platform

// Requests are processed in the read buffer. Only incomplete or waiting requests are copied to a `Backlog`. Setting
// `deadlineKind` to `.idle` makes `updateDeadline` set a new deadline, even if the connection is not idle.

extension Connection {
    /// Reads once, so that a fast peer does not delay other connections. Epoll reports the remaining bytes again.
    func receive(_ context: LoopContext) {
        switch socket.receive(into: context.readBuffer) {
        case .nothing: return
        case .failed: close(context)
        case .end:
            inputEnded = true
            notePeerHalfClosed(context)
        case .bytes(let count):
            let read = UnsafeBufferPointer(rebasing: context.readBuffer.assumingMemoryBound(to: UInt8.self)[..<count])
            if let backlog {
                backlog.append(read, at: context.now)
                backlog.hasUnparsedBytes = true
            } else {
                processInPlace(read.span, context)
            }
        }
    }

    /// Processes requests in the read buffer. Copies the remaining bytes to a backlog.
    private func processInPlace(_ bytes: Span<UInt8>, _ context: LoopContext) {
        let processed = processRequests(in: bytes, &context.parser, context)
        guard phase == .open else { return context.parser.reset() }
        if processed.count < bytes.count {
            backlog = Backlog(
                bytes.extracting(processed.count...), context.parser, processed.waitReason, of: identifier, context)
            context.parser.reset()
            awaitMemory(context)
        }
    }

    /// Processes requests of the backlog if its first request no longer waits. Returns true if a request was processed.
    func processBacklog(_ context: LoopContext) -> Bool {
        guard let backlog, !isPostponed, mayProcessRequest(context) else { return false }
        switch backlog.waitReason {
        case .bytes:
            guard backlog.hasUnparsedBytes else { return false }
        case .answers:
            guard pendingAnswers.isEmpty else { return false }
        case .memory: return false
        // The first guard has checked that the connection may process a request again.
        case .readyConnection: break
        }
        backlog.hasUnparsedBytes = false
        let bytes = backlog.bytes
        let processed = processRequests(in: bytes.span, of: backlog, &backlog.parser, context)
        guard phase == .open else { return false }
        if processed.count == bytes.count {
            self.backlog = nil
        } else {
            backlog.waitReason = processed.waitReason
            if processed.count > 0 { backlog.removeFirst(processed.count) }
            awaitMemory(context)
        }
        return processed.count > 0
    }

    /// If the backlog has a large body that needs memory, stops reading until the `UploadQueue` admits the body. If all
    /// earlier requests are answered, first asks the handler whether to receive the body, and which client sends it.
    /// Rejects the request if the handler refuses.
    private func awaitMemory(_ context: LoopContext) {
        guard let backlog, backlog.waitReason == .bytes, let bytes = backlog.missingMemory else { return }
        var client = ClientKey(peer, user?.id)
        if let head = backlog.parser.head, pendingAnswers.isEmpty {
            switch context.handler.decision(beforeBodyOf: head, backlog.bytes.span, from: peer, user) {
            case .refuse(let refusal): return reject(with: refusal, head, backlog.bytes.span, context)
            case .receive(let key): client = key ?? client
            }
        }
        backlog.awaitMemory(bytes, from: client)
        if backlog.waitReason == .memory { deadlineKind = .idle }
    }

    /// Continues to read a large body after the `UploadQueue` has admitted the body.
    func resume(_ upload: Upload, _ context: LoopContext) {
        guard phase == .open, let backlog, backlog.waitReason == .memory else { return }
        backlog.resume(upload)
        deadlineKind = .idle
        processPendingWork(context)
    }

    /// True if the connection must answer the previous request before it processes another request.
    private var mustAnswerPreviousRequest: Bool {
        guard let last = pendingAnswers.last else { return false }
        return last.blocksNextRequest && !last.isComplete
    }

    /// Limits the time of one call of `processRequests`, so that one connection does not delay other connections for
    /// long. Always allows one short request, without reading the clock.
    private struct TimeLimit {
        private static let maximumNanoseconds: UInt64 = 1_000_000
        private static let maximumShortRequestBytes = 1024

        private var end: UInt64?

        /// Returns true if the time is over. The time begins with the first call that reads the clock. It ends after
        /// `maximumNanoseconds`, or at the time `LoopContext.postponingStart` if this time is earlier.
        mutating func isExceeded(beforeRequestAt start: Int, inBufferOf count: Int, _ context: LoopContext) -> Bool {
            guard start > 0 || count > Self.maximumShortRequestBytes else { return false }
            let now = context.loop.clock.now()
            let end = self.end ?? min(now &+ Self.maximumNanoseconds, context.postponingStart)
            self.end = end
            return now > end
        }
    }

    /// Continues with a connection that was postponed because it had used up its time in an iteration.
    func resumeAfterPostponement(_ context: LoopContext) {
        isPostponed = false
        if phase == .open { processPendingWork(context) }
    }

    /// The number of bytes that `processRequests` has processed, and the reason why the next request waits. All bytes
    /// count as processed if the connection processes no further request, because the connection ignores further bytes.
    private struct ProcessedBytes {
        var count: Int
        var waitReason: Backlog.WaitReason
    }

    /// Passes requests to the handler until a request is incomplete, must wait, or ends the connection. The bytes are
    /// in `backlog`; if `backlog` is nil, they are in the loop's read buffer.
    private func processRequests(
        in bytes: Span<UInt8>, of backlog: Backlog? = nil, _ parser: inout MessageParser, _ context: LoopContext
    ) -> ProcessedBytes {
        var start = 0
        var timeLimit = TimeLimit()
        while start < bytes.count {
            guard mayProcessRequest(context) else { return ProcessedBytes(count: start, waitReason: .readyConnection) }
            guard !timeLimit.isExceeded(beforeRequestAt: start, inBufferOf: bytes.count, context) else {
                isPostponed = true
                context.postponed.append(identifier)
                return ProcessedBytes(count: start, waitReason: .readyConnection)
            }
            let message = bytes.extracting(start...)
            do throws(MessageError) {
                // A request that had to wait is parsed already.
                if !parser.isComplete, try !parser.parse(message) {
                    return ProcessedBytes(count: start, waitReason: .bytes)
                }
            } catch {
                reject(.request(error), parser.head, message, context)
                parser.reset()
                return ProcessedBytes(count: bytes.count, waitReason: .bytes)
            }
            // A complete request has a complete head. The property `partialHead` returns this head without a copy, and
            // the property `head` would copy it.
            guard parser.headIsComplete else { break }
            let body = parser.body
            // The handler can keep a large body of the backlog without a copy. The request begins at `start`.
            let largeBody = backlog?.largeBody(body, from: start)
            guard !mustAnswerPreviousRequest, passToHandler(parser.partialHead, message, body, largeBody, context)
            else {
                return ProcessedBytes(count: start, waitReason: .answers)
            }
            start += parser.consumed
            parser.reset()
            deadlineKind = .idle
            guard acceptsRequests else { return ProcessedBytes(count: bytes.count, waitReason: .bytes) }
            if context.output.count >= context.limits.sendBufferBytes { flush(context) }
        }
        return ProcessedBytes(count: start, waitReason: .bytes)
    }

    /// Passes a request to the handler. Returns false if the request must wait and be passed to the handler again.
    private func passToHandler(
        _ head: RequestHead, _ message: Span<UInt8>, _ body: MessageBody, _ largeBody: LargeBody?,
        _ context: LoopContext
    ) -> Bool {
        let number = nextNumber
        let hasEarlierRequests = !pendingAnswers.isEmpty
        let exchange = Exchange(
            loop: context.loop, ticket: ticket(number), peer: peer, user: user, arrived: context.now,
            hasEarlierRequests: hasEarlierRequests, largeBody: largeBody)
        // The index selects a block of the handler's array `additionalFields`. The loop adds the header fields of this
        // block to the answer.
        let format = AnswerFormat(of: head, fieldBlockIndex: context.handler.fieldBlockIndex(for: head, message))
        context.currentFormat = format
        isHandlingRequest = true
        let handling =
            switch body {
            case .none: context.handler.handle(head, message, body: Span(), exchange)
            case .inPlace(let range):
                context.handler.handle(head, message, body: message.extracting(range), exchange)
            case .decoded(let bytes): context.handler.handle(head, message, body: bytes.span, exchange)
            }
        isHandlingRequest = false
        // True if the handler used the ticket, which identifies the request, during `handle`, for example to set an
        // alarm. On the first use, the method `position` appends the pending answer and sets `currentFormat` to nil.
        let hasPendingAnswer = context.currentFormat == nil
        context.currentFormat = nil
        switch handling {
        case .answer(let response) where hasPendingAnswer:
            _ = respond(ticket(number), response, isStream: false, context)
        case .answer(let response):
            nextNumber &+= 1
            if hasEarlierRequests {
                pendingAnswers.append(PendingAnswer(format, response))
            } else {
                render(response, format, isLastPending: true, context)
            }
        case .later, .laterBlockingNextRequest:
            if !hasPendingAnswer {
                nextNumber &+= 1
                pendingAnswers.append(PendingAnswer(format))
            }
            if case .laterBlockingNextRequest = handling, let last = pendingAnswers.indices.last {
                pendingAnswers[last].blocksNextRequest = true
            }
            // `notePeerHalfClosed` ran before this request had a pending answer, so the handler does not know yet that
            // the peer has shut down its sending side.
            if peerHalfClosed, pendingAnswers.last?.isComplete == false {
                context.handler.peerHalfClosed(ticket(number))
            }
        case .afterEarlierRequests:
            assert(hasEarlierRequests, "the connection has no earlier request that this request could wait for")
            assert(!hasPendingAnswer, "the handler has already used the ticket of this request")
            if hasEarlierRequests, !hasPendingAnswer { return false }
            close(context)
        }
        if !head.keepsAlive { acceptsRequests = false }
        return true
    }

    /// Rejects a request, and processes no further requests. The rejection is sent after all pending answers.
    func reject(_ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, _ context: LoopContext) {
        reject(with: context.handler.responseToRejected(rejection, head, bytes, from: peer, user), head, bytes, context)
    }

    private func reject(with response: Response, _ head: RequestHead?, _ bytes: Span<UInt8>, _ context: LoopContext) {
        acceptsRequests = false
        backlog = nil
        nextNumber &+= 1
        // The handler selects a block of its array `additionalFields` by the head. Without a head, use the first block.
        let index = head.map { context.handler.fieldBlockIndex(for: $0, bytes) } ?? 0
        pendingAnswers.append(PendingAnswer(AnswerFormat(ofRejected: head, fieldBlockIndex: index), response))
    }

    /// Sends `100 Continue` if the peer waits for it before it sends a body. Waits until all earlier answers are sent,
    /// because the peer would otherwise interpret `100 Continue` as a part of the answer to an earlier request.
    func sendContinue(_ context: LoopContext) {
        guard let backlog, backlog.waitReason == .bytes, !backlog.hasSentContinue, pendingAnswers.isEmpty,
            unsent == nil, backlog.parser.headIsComplete, let head = backlog.parser.head, head.expectsContinue,
            head.isHTTP11
        else { return }
        backlog.hasSentContinue = true
        ResponseWriter.continueLine.withUTF8Buffer { context.output.append(contentsOf: $0) }
        flush(context)
    }
}
