internal import HTTPWire
internal import Platform

/// Input of a connection that could not be taken yet: an incomplete request, or complete ones that must wait. Only a
/// connection that has such input has a backlog.
final class Backlog {
    enum Waiting {
        /// For the rest of a request.
        case bytes
        /// For all answers before it; its first request is complete.
        case answers
        /// For fewer owed answers, or for unsent ones to drain.
        case room
    }

    /// Begins with the first byte of a request.
    var bytes: [UInt8]
    /// The state of reading that request.
    var parser: MessageParser
    var waiting: Waiting
    /// True if bytes have come since it was last looked at.
    var isFresh = false
    /// True if the peer was asked to send the body (`100 Continue`).
    var isContinued = false

    init(_ bytes: Span<UInt8>, _ parser: MessageParser, _ waiting: Waiting) {
        self.bytes = bytes.withUnsafeBufferPointer { Array($0) }
        self.parser = parser
        self.waiting = waiting
    }
}

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
                backlog.bytes.append(contentsOf: read)
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
            backlog = Backlog(bytes.extracting(taken.count...), context.parser, taken.waiting)
            context.parser.reset()
        }
    }

    /// Takes requests from the backlog if what it waits for has come. Returns true if one was taken.
    func takeBacklog(_ context: LoopContext) -> Bool {
        guard let backlog, hasRoom(context) else { return false }
        switch backlog.waiting {
        case .bytes:
            guard backlog.isFresh else { return false }
        case .answers:
            guard owed.isEmpty else { return false }
        case .room: break
        }
        backlog.isFresh = false
        let bytes = backlog.bytes
        let taken = take(bytes.span, &backlog.parser, context)
        guard phase == .open else { return false }
        if taken.count == bytes.count {
            self.backlog = nil
        } else {
            backlog.waiting = taken.waiting
            if taken.count > 0 {
                backlog.bytes = Array(bytes[taken.count...])
                backlog.isContinued = false
            }
        }
        return taken.count > 0
    }

    /// True if the last request that was taken admits no other until it is answered.
    private var isHeldBack: Bool {
        guard let last = owed.last else { return false }
        return last.isAlone && !last.isComplete
    }

    private struct Taken {
        var count: Int
        var waiting: Backlog.Waiting
    }

    /// Offers requests to the handler until one is incomplete, must wait or is the last.
    private func take(_ bytes: Span<UInt8>, _ parser: inout MessageParser, _ context: LoopContext) -> Taken {
        var start = 0
        while start < bytes.count {
            guard hasRoom(context) else { return Taken(count: start, waiting: .room) }
            let message = bytes.extracting(start...)
            do throws(MessageError) {
                if !parser.isComplete, try !parser.parse(message) { return Taken(count: start, waiting: .bytes) }
            } catch {
                reject(.request(error), parser.head, message, context)
                parser.reset()
                return Taken(count: bytes.count, waiting: .bytes)
            }
            guard let head = parser.head else { break }
            guard !isHeldBack, offer(head, message, parser.body, context) else {
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
        _ head: RequestHead, _ message: Span<UInt8>, _ body: MessageBody, _ context: LoopContext
    ) -> Bool {
        let number = nextNumber
        let isBehind = !owed.isEmpty
        let exchange = Exchange(loop: context.loop, ticket: ticket(number), peer: peer, isBehind: isBehind)
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
        let response = context.handler.rejected(rejection, head, bytes, from: peer)
        takesRequests = false
        backlog = nil
        nextNumber &+= 1
        let fields = head.map { context.handler.fields(for: $0, bytes) } ?? 0
        owed.append(PendingAnswer(AnswerForm(ofRejected: head, fields: fields), response))
    }

    /// Tells a peer that expects it to send its body, once it has all earlier answers: they would be mistaken for this.
    func awaitBody(_ context: LoopContext) {
        guard let backlog, backlog.waiting == .bytes, !backlog.isContinued, owed.isEmpty, unsent.isEmpty,
            backlog.parser.headIsComplete, let head = backlog.parser.head, head.expectsContinue, head.isHTTP11
        else { return }
        backlog.isContinued = true
        ResponseWriter.continueLine.withUTF8Buffer { context.output.append(contentsOf: $0) }
        flush(context)
    }
}
