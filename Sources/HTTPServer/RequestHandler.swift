package import HTTPWire
package import Platform

/// A handler that answers the requests of one loop. It runs on that loop only, needs no locks, and must not block.
///
/// The loop owns the handler until it has stopped, so the handler may hold the loop.
package protocol RequestHandler: AnyObject {
    /// Fields that the loop adds to every answer: the first block for most requests, other blocks for requests that
    /// `fields(for:_:)` selects. Read at the beginning and when `EventLoop.renewFields` asks for it.
    var moreFields: [FieldBlock] { get }

    /// Returns the index of the `moreFields` that the answer to a request has.
    func fields(for head: RequestHead, _ bytes: Span<UInt8>) -> Int

    /// Handles a complete request. The ranges of `head` lie in `bytes`; `body` is decoded. Neither outlives the call.
    ///
    /// Requests of one connection come in their order and are answered in it.
    func handle(_ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange) -> Handling

    /// Returns the answer to a request that cannot be accepted; the connection closes after the answer. `head`, with `bytes` for its
    /// ranges, is there if it was complete.
    func rejected(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> Response

    /// Decides whether the large body of a request is received.
    func decision(
        beforeBodyOf head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> BodyDecision

    /// Submits collected work, after all events of a batch. May `respond`.
    func batchEnded()

    /// Called after a batch that took over 20 ms, with its length: the other connections of the loop waited meanwhile.
    func wasSlow(nanoseconds: UInt64)

    /// Called when the peer of an owed answer will send nothing more, but may still read. An answer that waits for a
    /// change should come now.
    func peerHalfClosed(_ ticket: Ticket)

    /// Called when the connection of an owed answer is gone. Not called for tickets that were answered.
    func closed(_ ticket: Ticket)

    /// Called a little after the time of `EventLoop.setAlarm`, never before; not once the answer is complete or the
    /// connection gone.
    func alarm(_ ticket: Ticket)

    /// Called when the kernel has all that was pushed of a stream, as `EventLoop.whenDrained` asked for.
    func drained(_ ticket: Ticket)

    /// Answers all requests that wait, and ends all streams: the loop begins to stop. Answers from then on close their
    /// connections. Requests that are on their way still come, and should not wait for a change.
    func stopping()
}

extension RequestHandler {
    package var moreFields: [FieldBlock] { [FieldBlock()] }
    package func fields(for head: RequestHead, _ bytes: Span<UInt8>) -> Int { 0 }
    package func decision(
        beforeBodyOf head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> BodyDecision { .receive(from: nil) }
    package func batchEnded() {}
    package func wasSlow(nanoseconds: UInt64) {}
    package func peerHalfClosed(_ ticket: Ticket) {}
    package func closed(_ ticket: Ticket) {}
    package func alarm(_ ticket: Ticket) {}
    package func drained(_ ticket: Ticket) {}
    package func stopping() {}
}

/// A decision of a handler on a request whose large body is not received yet.
package enum BodyDecision {
    /// The head is enough to refuse the request.
    case refuse(Response)
    /// The body is received once there is memory. Bodies of different clients wait in different queues; nil for the queue of the peer.
    case receive(from: ClientKey?)
}

/// A decision of a handler on a request.
package enum Handling {
    case answer(Response)
    /// `EventLoop.respond` or `begin` comes, once: later, or before `handle` has returned.
    case later
    /// As `later`, and the connection accepts no further request until the answer is complete. Input that was not
    /// read yet waits in the kernel.
    case laterAlone
    /// Only where `Exchange.isBehind`: offer the request again once all earlier ones of the connection are answered.
    /// Until then the connection is not read.
    case notYet
}

/// The circumstances of a request.
package struct Exchange: Sendable {
    /// The loop that the request came in on: the one to `respond` on.
    package let loop: EventLoop
    package let ticket: Ticket
    /// The peer of the connection, or the client for which it sends the request.
    package var peer: SocketAddress
    /// The user of a Unix domain socket, unless that is a proxy.
    package var user: PeerUser?
    /// The time of the loop iteration in which the request arrived, in nanoseconds of `EventLoop.now`.
    package let arrived: UInt64
    /// True if earlier requests of the connection are not answered yet. A handler that wants them to take effect first
    /// returns `.notYet`, or queues behind them.
    package let isBehind: Bool
    /// The body, if it is larger than a read buffer.
    package let largeBody: LargeBody?

    /// True if the peer is on this machine.
    package var isLocal: Bool { user != nil || peer.isLocal }
}

/// A body that can be kept without a copy. Copying some megabytes takes an event loop milliseconds.
package struct LargeBody: Sendable {
    package let bytes: [UInt8]
    package let range: Range<Int>
    /// The memory of the body.
    package let charge: MemoryBudget.Reservation
    /// Other large bodies may be admitted once this is deallocated.
    private let upload: Upload?

    init(_ bytes: [UInt8], _ range: Range<Int>, _ charge: MemoryBudget.Reservation, _ upload: Upload?) {
        self.bytes = bytes
        self.range = range
        self.charge = charge
        self.upload = upload
    }

    package var count: Int { range.count }
}

/// A reason why a request cannot be accepted.
package enum Rejection: Sendable {
    case request(MessageError)
    /// The head, or the body, did not come in time.
    case tooSlow
    case tooManyConnections(limit: Int)
    /// As that, from the peer's address.
    case tooManyConnectionsOfAddress(limit: Int)
    /// The memory for bodies is used up, and the body has waited too long for memory or came more slowly than `MinimumRate`.
    case tooMuchMemory
}

/// A name for one request of one connection on its loop. It may outlive both: an answer to a ticket whose connection is
/// gone is discarded, also when another connection has its slot.
package struct Ticket: Hashable, Sendable {
    package let slot: UInt32
    let generation: UInt32
    /// The number of the request on its connection. It wraps around.
    package let number: UInt32

    init(slot: UInt32, generation: UInt32, number: UInt32) {
        self.slot = slot
        self.generation = generation
        self.number = number
    }

    /// - Parameter connection: see `connection`.
    package init(connection: UInt64, number: UInt32) {
        self.init(
            slot: UInt32(truncatingIfNeeded: connection), generation: UInt32(truncatingIfNeeded: connection >> 32),
            number: number)
    }

    /// Identifies the connection: no other connection of the event loop has or had the same value.
    package var connection: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    package func hash(into hasher: inout Hasher) {
        // One number instead of three, because a request may be looked up several times. Equal hashes are rare and do no harm.
        hasher.combine(connection &+ UInt64(number) << 40)
    }
}
