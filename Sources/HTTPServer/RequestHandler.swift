package import HTTPWire
package import Platform

/// A handler that answers the requests of one event loop. All methods run on the event loop thread and must not block.
///
/// The loop identifies an unanswered request by its `Ticket`. The loop releases the handler when the loop stops, so the
/// handler may retain the loop.
package protocol RequestHandler: AnyObject {
    /// Blocks of header fields, of which the loop adds one block to every answer. The loop reads this property when it
    /// starts, and when `EventLoop.reloadFieldBlocks` is called.
    var additionalFields: [FieldBlock] { get }

    /// Returns the index in `additionalFields` of the block for the answer to a request.
    func fieldBlockIndex(for head: RequestHead, _ bytes: Span<UInt8>) -> Int

    /// Handles a complete request. `head` contains ranges of `bytes`. `body` is the body without chunked framing. The
    /// handler must not use `bytes` and `body` after the call.
    ///
    /// The loop passes the requests of one connection in their order, and sends the answers in the same order.
    func handle(_ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange) -> Handling

    /// Returns the answer to a request that the loop rejects. The connection closes after the answer. `head` contains
    /// ranges of `bytes`, and is nil if the head of the request is incomplete.
    func responseToRejected(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> Response

    /// Decides whether to receive the large body of a request. The loop calls this method only if all earlier requests
    /// of the connection are answered when the loop asks for the memory of the body. Otherwise the loop receives the
    /// body without this decision, so `handle` must not rely on the decision.
    func decision(
        beforeBodyOf head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> BodyDecision

    /// Submits the work that the handler has collected during `handle`, such as writes. The loop calls this method
    /// after it has handled a group of events. The method may call `EventLoop.respond`.
    func submitCollectedWork()

    /// Called after an iteration of the loop that took longer than `TransportLimits.slowIteration`. The iteration has
    /// delayed all connections of the loop.
    func iterationWasSlow(nanoseconds: UInt64)

    /// Called when the peer of an incomplete answer has shut down its sending side. The peer may still read. If the
    /// answer waits for an event, the handler should answer now, because the peer may have disconnected.
    func peerHalfClosed(_ ticket: Ticket)

    /// Called when the connection of an incomplete answer is closed.
    func closed(_ ticket: Ticket)

    /// Called shortly after the time of `EventLoop.setAlarm`, unless the answer is complete or the connection is
    /// closed.
    func alarm(_ ticket: Ticket)

    /// Called when the kernel has accepted all pushed bytes of a stream, after `EventLoop.notifyWhenDrained`.
    func drained(_ ticket: Ticket)

    /// Called when the loop begins to stop. The handler must answer all waiting requests and end all streams. The loop
    /// closes each connection after its answer. Requests may still arrive, and should not wait for an event.
    func stopping()
}

extension RequestHandler {
    package var additionalFields: [FieldBlock] { [FieldBlock()] }
    package func fieldBlockIndex(for head: RequestHead, _ bytes: Span<UInt8>) -> Int { 0 }
    package func decision(
        beforeBodyOf head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> BodyDecision { .receive(from: nil) }
    package func submitCollectedWork() {}
    package func iterationWasSlow(nanoseconds: UInt64) {}
    package func peerHalfClosed(_ ticket: Ticket) {}
    package func closed(_ ticket: Ticket) {}
    package func alarm(_ ticket: Ticket) {}
    package func drained(_ ticket: Ticket) {}
    package func stopping() {}
}

/// A decision of a handler on a request whose large body is not received yet.
package enum BodyDecision {
    case refuse(Response)
    /// Receive the body when memory is available. Each client may use a share of the memory for large bodies. The body
    /// counts towards the share of this client; if nil, towards the share of the peer.
    case receive(from: ClientKey?)
}

/// A decision of a handler on a request.
package enum Handling {
    case answer(Response)
    /// The handler calls `EventLoop.respond` or `beginStream` once, possibly before `handle` returns.
    case later
    /// Like `later`, but the connection processes no further request until the answer is complete.
    case laterBlockingNextRequest
    /// Pass the request to the handler again when all earlier requests of the connection are answered. The connection
    /// is not read until then. Only allowed if `Exchange.hasEarlierRequests` is true.
    case afterEarlierRequests
}

/// The data with which the handler answers a request, besides the parameters `head`, `bytes` and `body` of
/// ``RequestHandler/handle(_:_:body:_:)``.
package struct Exchange: Sendable {
    /// The loop on which the request arrived, and on which the handler must answer it.
    package let loop: EventLoop
    package let ticket: Ticket
    /// The address of the peer of the connection. If the peer is a trusted proxy (option `trustedProxies`), the handler
    /// sets the address of the client.
    package var peer: SocketAddress
    /// The user at the other end of a Unix domain socket; nil for TCP. If the peer is a trusted proxy, the handler sets
    /// nil.
    package var user: PeerUser?
    /// The time of the loop iteration in which the request arrived, in nanoseconds of `EventLoop.now`.
    package let arrived: UInt64
    /// True if earlier requests of the connection are not answered yet. If the request must not take effect before
    /// them, the handler returns `Handling.afterEarlierRequests`, or queues the request after them.
    package let hasEarlierRequests: Bool
    /// The body, if it has at least `LoopContext.readSize` bytes; otherwise nil.
    package let largeBody: LargeBody?

    /// True if the peer is on this machine.
    package var isLocal: Bool { user != nil || peer.isLocal }
}

/// A body that the handler can keep without a copy. Copying some megabytes takes an event loop milliseconds.
package struct LargeBody: Sendable {
    package let bytes: [UInt8]
    package let range: Range<Int>
    /// The part of the memory budget that covers the body.
    package let charge: MemoryBudget.Reservation
    /// Counts the body towards the memory that the `UploadQueue` may use, until this object is deallocated.
    private let upload: Upload?

    init(_ bytes: [UInt8], _ range: Range<Int>, _ charge: MemoryBudget.Reservation, _ upload: Upload?) {
        self.bytes = bytes
        self.range = range
        self.charge = charge
        self.upload = upload
    }

    package var count: Int { range.count }
}

/// A reason for which the loop rejects a request or a connection.
package enum Rejection: Sendable {
    /// The request is not valid HTTP or exceeds a size limit.
    case request(MessageError)
    /// The head or the body was not received in time.
    case tooSlow
    case tooManyConnections(limit: Int)
    /// The address of the peer, or the user of a Unix domain socket, has too many connections.
    case tooManyConnectionsOfAddress(limit: Int)
    /// Memory is exhausted, and the body has waited too long for memory or was slower than `MinimumRate`.
    case tooMuchMemory
}

/// Identifies one unanswered request on its event loop. A ticket may be used after its connection has closed: the loop
/// then ignores the answer, even if another connection has the same slot.
package struct Ticket: Hashable, Sendable {
    /// The index of the connection in the loop's table of connections.
    package let slot: UInt32
    /// The number of connections that used the slot before this connection.
    let generation: UInt32
    /// The number of the request on its connection. The numbers wrap around.
    package let number: UInt32

    init(slot: UInt32, generation: UInt32, number: UInt32) {
        self.slot = slot
        self.generation = generation
        self.number = number
    }

    /// - Parameter connection: the property `connection` of any ticket of the same connection.
    package init(connection: UInt64, number: UInt32) {
        self.init(
            slot: UInt32(truncatingIfNeeded: connection), generation: UInt32(truncatingIfNeeded: connection >> 32),
            number: number)
    }

    /// Identifies the connection: no other connection of the event loop has or had the same value.
    package var connection: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    package func hash(into hasher: inout Hasher) {
        // Hash one number instead of three, because tickets are looked up often. Collisions are rare.
        hasher.combine(connection &+ UInt64(number) << 40)
    }
}
