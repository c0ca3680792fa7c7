internal import HTTPWire
internal import Platform

// MARK: Input: requests are taken from the loop's read buffer in place, and copied to a backlog only if they must wait.

extension Connection {
    /// Reads once, so that a peer that never pauses does not delay the others; epoll reports what is left again.
    func receive(_ context: LoopContext) {
        switch socket.receive(into: context.readBuffer) {
        case .nothing: return
        case .failed: close(context)
        case .end:
            inputEnded = true
            notePeerEnded(context)
        case .bytes(let count):
            let read = UnsafeBufferPointer(
                rebasing: context.readBuffer.assumingMemoryBound(to: UInt8.self)[..<count])
            if let backlog {
                backlog.append(read, at: context.now)
                backlog.isFresh = true
            } else {
                takeInPlace(read.span, context)
            }
        }
    }

    private func takeInPlace(_ bytes: Span<UInt8>, _ context: LoopContext) {
        let taken = take(bytes, &context.parser, context)
        guard phase == .open else { return context.parser.reset() }
        if taken.count < bytes.count {
            backlog = Backlog(
                bytes.extracting(taken.count...), context.parser, taken.waiting, of: name, context)
            context.parser.reset()
            awaitMemory(context)
        }
    }

    /// Takes requests from the backlog if what it waits for has come. Returns true if one was taken.
    func takeBacklog(_ context: LoopContext) -> Bool {
        guard let backlog, !isPostponed, hasRoom(context) else { return false }
        switch backlog.waiting {
        case .bytes:
            guard backlog.isFresh else { return false }
        case .answers:
            guard owed.isEmpty else { return false }
        case .memory: return false
        case .room: break
        }
        backlog.isFresh = false
        let bytes = backlog.bytes
        let taken = take(bytes.span, of: backlog, &backlog.parser, context)
        guard phase == .open else { return false }
        if taken.count == bytes.count {
            self.backlog = nil
        } else {
            backlog.waiting = taken.waiting
            if taken.count > 0 {
                backlog.removeFirst(taken.count)
            }
            awaitMemory(context)
        }
        return taken.count > 0
    }

    /// Stops reading a large body until there is memory for it, or rejects the request if its head is enough to refuse it.
    private func awaitMemory(_ context: LoopContext) {
        guard let backlog, backlog.waiting == .bytes, let bytes = backlog.missingMemory else { return }
        var client = ClientKey(peer, user?.id)
        if let head = backlog.parser.head, owed.isEmpty {
            switch context.handler.decision(beforeBodyOf: head, backlog.bytes.span, from: peer, user) {
            case .refuse(let refusal): return reject(with: refusal, head, backlog.bytes.span, context)
            case .receive(let key): client = key ?? client
            }
        }
        backlog.awaitMemory(bytes, from: client)
        if backlog.waiting == .memory { deadlineKind = .idle }
    }

    /// Continues to read a large body that was admitted.
    func resume(_ upload: Upload, _ context: LoopContext) {
        guard phase == .open, let backlog, backlog.waiting == .memory else { return }
        backlog.resume(upload)
        deadlineKind = .idle
        proceed(context)
    }

    /// True if the last request that was taken admits no other until it is answered.
    private var isHeldBack: Bool {
        guard let last = owed.last else { return false }
        return last.isAlone && !last.isComplete
    }

    /// The time that a connection has for requests before others are served. A single short request is served in any
    /// case, and the clock is not read for it.
    private struct Turn {
        private static let length: UInt64 = 1_000_000
        /// A short request has at most so many bytes.
        private static let shortBytes = 1024

        private var end: UInt64?

        /// Begins when it is first asked whether it is over.
        mutating func isOver(beforeRequestAt start: Int, of count: Int, _ context: LoopContext) -> Bool {
            guard start > 0 || count > Self.shortBytes else { return false }
            let now = context.loop.clock.now()
            let end = self.end ?? min(now &+ Self.length, context.longRequestsEnd)
            self.end = end
            return now > end
        }
    }

    /// Goes on with requests that were left when the turn ended.
    func resume(_ context: LoopContext) {
        isPostponed = false
        if phase == .open { proceed(context) }
    }

    private struct Taken {
        var count: Int
        var waiting: Backlog.Waiting
    }

    /// Offers requests to the handler until one is incomplete, must wait or is the last.
    ///
    /// - Parameter kept: the backlog that holds the bytes; nil if they are in the loop's read buffer.
    private func take(
        _ bytes: Span<UInt8>, of kept: Backlog? = nil, _ parser: inout MessageParser, _ context: LoopContext
    ) -> Taken {
        var start = 0
        var turn = Turn()
        while start < bytes.count {
            guard hasRoom(context) else { return Taken(count: start, waiting: .room) }
            guard !turn.isOver(beforeRequestAt: start, of: bytes.count, context) else {
                isPostponed = true
                context.postponed.append(name)
                return Taken(count: start, waiting: .room)
            }
            let message = bytes.extracting(start...)
            do throws(MessageError) {
                if !parser.isComplete, try !parser.parse(message) { return Taken(count: start, waiting: .bytes) }
            } catch {
                reject(.request(error), parser.head, message, context)
                parser.reset()
                return Taken(count: bytes.count, waiting: .bytes)
            }
            guard parser.headIsComplete else { break }
            let body = parser.body
            let largeBody = kept?.largeBody(body, from: start)
            guard !isHeldBack, offer(parser.partialHead, message, body, largeBody, context) else {
                return Taken(count: start, waiting: .answers)
            }
            start += parser.consumed
            parser.reset()
            deadlineKind = .idle
            guard takesRequests else { return Taken(count: bytes.count, waiting: .bytes) }
            if context.output.count >= context.limits.sendBufferBytes { flush(context) }
        }
        return Taken(count: start, waiting: .bytes)
    }

    /// Offers a request to the handler. Returns false if it is to be offered again.
    private func offer(
        _ head: RequestHead, _ message: Span<UInt8>, _ body: MessageBody, _ largeBody: LargeBody?,
        _ context: LoopContext
    ) -> Bool {
        let number = nextNumber
        let isBehind = !owed.isEmpty
        let exchange = Exchange(
            loop: context.loop, ticket: ticket(number), peer: peer, user: user, arrived: context.now,
            isBehind: isBehind, largeBody: largeBody)
        let form = AnswerForm(of: head, fields: context.handler.fields(for: head, message))
        context.offered = form
        isOffering = true
        let handling =
            switch body {
            case .none: context.handler.handle(head, message, body: Span(), exchange)
            case .inPlace(let range):
                context.handler.handle(head, message, body: message.extracting(range), exchange)
            case .decoded(let bytes): context.handler.handle(head, message, body: bytes.span, exchange)
            }
        isOffering = false
        // Else the handler has begun to answer it.
        let isUntouched = context.offered != nil
        context.offered = nil
        switch handling {
        case .answer(let response) where !isUntouched:
            _ = respond(ticket(number), response, isStream: false, context)
        case .answer(let response):
            nextNumber &+= 1
            if isBehind {
                owed.append(PendingAnswer(form, response))
            } else {
                render(response, form, isLast: true, context)
            }
        case .later, .laterAlone:
            if isUntouched {
                nextNumber &+= 1
                owed.append(PendingAnswer(form))
            }
            if case .laterAlone = handling, !owed.isEmpty { owed[owed.count - 1].isAlone = true }
            if peerEnded, owed.last?.isComplete == false { context.handler.peerHalfClosed(ticket(number)) }
        case .notYet:
            assert(isBehind, "no request is before this one that it could wait for")
            assert(isUntouched, "the handler has acted on this request already")
            if isBehind, isUntouched { return false }
            close(context)
        }
        if !head.keepsAlive { takesRequests = false }
        return true
    }

    /// Takes no more requests, and answers with the reason after all answers that are owed.
    func reject(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, _ context: LoopContext
    ) {
        reject(with: context.handler.rejected(rejection, head, bytes, from: peer, user), head, bytes, context)
    }

    private func reject(
        with response: Response, _ head: RequestHead?, _ bytes: Span<UInt8>, _ context: LoopContext
    ) {
        takesRequests = false
        backlog = nil
        nextNumber &+= 1
        let fields = head.map { context.handler.fields(for: $0, bytes) } ?? 0
        owed.append(PendingAnswer(AnswerForm(ofRejected: head, fields: fields), response))
    }

    /// Tells a peer that expects it to send its body, once it has all earlier answers: they would be mistaken for this.
    func awaitBody(_ context: LoopContext) {
        guard let backlog, backlog.waiting == .bytes, !backlog.isContinued, owed.isEmpty, unsent == nil,
            backlog.parser.headIsComplete, let head = backlog.parser.head, head.expectsContinue, head.isHTTP11
        else { return }
        backlog.isContinued = true
        ResponseWriter.continueLine.withUTF8Buffer { context.output.append(contentsOf: $0) }
        flush(context)
    }
}
