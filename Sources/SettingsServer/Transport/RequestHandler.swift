package import HTTPWire

/// What the daemon does with requests. There is one instance for each loop, made by a factory on that loop, and only ever
/// called there; it needs no locks for what is its own. It must not block.
///
/// A handler may hold its loop `unowned`: the loop owns the handler.
package protocol RequestHandler: AnyObject {
    /// A complete request. `bytes` is what the ranges of `head` lead into; `body` is decoded. Neither lives longer than
    /// the call.
    ///
    /// Requests of one connection come in their order, and are answered in it, whichever way each of them is answered.
    func handle(_ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange) -> Handling

    /// The answer to a peer that gets no further; the connection closes after it. `head` is that of the request, with
    /// `bytes` that its ranges lead into, if it was complete.
    func rejected(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: PeerAddress
    ) -> Response

    /// All events that were there have been handled: the moment to hand over what was collected. May `respond`.
    func batchEnded()

    /// The peer of an owed answer will send nothing more, but may still read. An answer that is only waiting for
    /// something to happen should come now.
    func peerHalfClosed(_ ticket: Ticket)

    /// The time of `EventLoop.setAlarm` has come, and the answer is still owed.
    func alarm(_ ticket: Ticket)

    /// After `EventLoop.whenDrained`: everything that was pushed is with the kernel.
    func drained(_ ticket: Ticket)

    /// The loop begins to stop. Answers that are only waiting for something to happen should come now.
    func stopping()

    /// An owed answer is wanted no more: the connection is gone. Not called for tickets that were answered.
    func closed(_ ticket: Ticket)
}

extension RequestHandler {
    package func batchEnded() {}
    package func peerHalfClosed(_ ticket: Ticket) {}
    package func alarm(_ ticket: Ticket) {}
    package func drained(_ ticket: Ticket) {}
    package func stopping() {}
    package func closed(_ ticket: Ticket) {}
}

/// What a handler does about a request.
package enum Handling {
    case answer(Response)
    /// `EventLoop.respond` will come, once, after `handle` has returned.
    case later
    /// Only where `Exchange.isBehind`: offer it again once all earlier requests of the connection are answered. Until then
    /// its connection is not read.
    case notYet
}

/// The circumstances of a request.
package struct Exchange: Sendable {
    /// The loop that the request came in on: the one to `respond` on.
    package let loop: EventLoop
    package let ticket: Ticket
    package let peer: PeerAddress
    /// Earlier requests of the connection have not been answered yet. Whoever wants them to have taken effect first says
    /// `.notYet`, or queues behind them.
    package let isBehind: Bool
}

/// Why a peer gets no further.
package enum Rejection: Sendable {
    case request(RequestError)
    /// The head, or the body, did not come in time.
    case tooSlow
    case tooManyConnections(limit: Int)
}
