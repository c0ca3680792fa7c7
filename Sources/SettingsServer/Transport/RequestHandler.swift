package import HTTPWire
package import Platform

/// What the daemon does with requests. There is one instance for each loop, made by a factory on that loop, and only
/// ever called there; it needs no locks for what is its own. It must not block.
///
/// A handler may hold its loop `unowned`: the loop owns the handler.
package protocol RequestHandler: AnyObject {
    /// Fields that answers have beside their own, whichever they are: the first for most requests, others for requests
    /// that `fields(for:_:)` tells apart. Looked at once.
    var moreFields: [FieldBlock] { get }

    /// Which of `moreFields` the answer to a request has.
    func fields(for head: RequestHead, _ bytes: Span<UInt8>) -> Int

    /// A complete request. `bytes` is what the ranges of `head` lead into; `body` is decoded. Neither lives longer than
    /// the call.
    ///
    /// Requests of one connection come in their order, and are answered in it, whichever way each of them is answered.
    func handle(_ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange) -> Handling

    /// The answer to a peer that gets no further; the connection closes after it. `head` is that of the request, with
    /// `bytes` that its ranges lead into, if it was complete.
    func rejected(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: SocketAddress
    ) -> Response

    /// All events that were there have been handled: the moment to hand over what was collected. May `respond`.
    func batchEnded()

    /// The peer of an owed answer will send nothing more, but may still read. An answer that is only waiting for
    /// something to happen should come now.
    func peerHalfClosed(_ ticket: Ticket)

    /// An owed answer is wanted no more: the connection is gone. Not called for tickets that were answered.
    func closed(_ ticket: Ticket)

    /// The time has come that `EventLoop.setAlarm` was told: a little after it, never before. Not called once the
    /// answer is given, to its end if it is a stream, or the connection gone.
    func alarm(_ ticket: Ticket)

    /// All that was pushed of a stream has been handed to the kernel, as `EventLoop.whenDrained` asked for.
    func drained(_ ticket: Ticket)

    /// The loop begins to stop, and waits for what is owed: the moment to answer all that wait, and to end all
    /// streams. Answers from then on close their connections. Requests that are on their way are still handed to
    /// `handle`, and an answer to one of them should not wait for anything to happen.
    func stopping()
}

extension RequestHandler {
    package var moreFields: [FieldBlock] { [FieldBlock()] }
    package func fields(for head: RequestHead, _ bytes: Span<UInt8>) -> Int { 0 }
    package func batchEnded() {}
    package func peerHalfClosed(_ ticket: Ticket) {}
    package func closed(_ ticket: Ticket) {}
    package func alarm(_ ticket: Ticket) {}
    package func drained(_ ticket: Ticket) {}
    package func stopping() {}
}

/// What a handler does about a request.
package enum Handling {
    case answer(Response)
    /// `EventLoop.respond` or `begin` comes, once: later, or before `handle` has returned.
    case later
    /// As `later`; no further request of the connection is taken until the answer is complete. Its input waits in the
    /// kernel meanwhile, save what was read already.
    case laterAlone
    /// Only where `Exchange.isBehind`: offer it again once all earlier requests of the connection are answered. Until
    /// then its connection is not read.
    case notYet
}

/// The circumstances of a request.
package struct Exchange: Sendable {
    /// The loop that the request came in on: the one to `respond` on.
    package let loop: EventLoop
    package let ticket: Ticket
    package let peer: SocketAddress
    /// Earlier requests of the connection have not been answered yet. Whoever wants them to have taken effect first
    /// says `.notYet`, or queues behind them.
    package let isBehind: Bool
}

/// Why a peer gets no further.
package enum Rejection: Sendable {
    case request(RequestError)
    /// The head, or the body, did not come in time.
    case tooSlow
    case tooManyConnections(limit: Int)
}
