internal import Dispatch
internal import Platform
internal import Synchronization

/// Accepts connections from a listener, and passes each connection to the event loop with the fewest connections.
///
/// All acceptors of a server share one dispatch queue, because the connection limits apply to all listeners together.
/// If no file descriptor or memory is available for a connection, the acceptor logs the first failure, pauses and
/// retries. During a pause, clients wait in the listen backlog of the kernel, and open connections are served.
///
/// An arrival is a connection that was passed to a loop, and that the loop has not begun to serve. While every loop has
/// too many arrivals, the acceptor waits, so that the loops serve open connections between new connections.
///
/// Thread-safe. `@unchecked`, because only code on `queue` uses the mutable state.
final class Acceptor: @unchecked Sendable {
    /// Accepts a connection. Tests replace this function in order to inject failures.
    typealias Accept = @Sendable (Listener) -> Listener.AcceptResult

    /// The maximum number of connections that one call of `acceptConnections` accepts, so that `stop`, which waits for
    /// the end of the call, does not wait long.
    private static let acceptsPerCall = 256
    /// The maximum number of arrivals of one loop.
    private static let maximumArrivals = 128
    /// The number of connections of one client beyond `TransportLimits.connectionsPerAddress` that get the answer 429.
    /// Further connections are closed without an answer. The number is small, so that one client uses few descriptors.
    private static let refusedPerClient = 16
    /// The time between two attempts to accept while no descriptor or memory is available.
    private static let retryInterval = DispatchTimeInterval.milliseconds(50)

    private let listener: Listener
    private let loops: [EventLoop]
    private let counts: ClientCounts
    private let userNames: UserNames
    private var limits: TransportLimits
    private let accept: Accept
    private let log: @Sendable (TransportEvent) -> Void
    private let queue: DispatchQueue
    private let listenSource: any DispatchSourceRead

    /// True while no descriptor or memory is available.
    private var isPaused = false
    /// True while the acceptor waits because every loop has too many arrivals.
    private var awaitsLoops = false
    private var isStopped = false
    /// The index of the loop that is preferred if several loops have the fewest connections.
    private var preferredLoop = 0

    init(
        _ listener: Listener, _ loops: [EventLoop], _ counts: ClientCounts, _ userNames: UserNames,
        limits: TransportLimits, queue: DispatchQueue, accept: @escaping Accept,
        log: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.listener = listener
        self.loops = loops
        self.counts = counts
        self.userNames = userNames
        self.limits = limits
        self.accept = accept
        self.log = log
        self.queue = queue
        listenSource = DispatchSource.makeReadSource(fileDescriptor: listener.descriptor, queue: queue)
        listenSource.setEventHandler { self.acceptConnections() }
        // The descriptor must outlive the source that watches it.
        listenSource.setCancelHandler { withExtendedLifetime(listener) {} }
        listenSource.activate()
    }

    func update(_ limits: TransportLimits) {
        queue.async { self.limits = limits }
    }

    /// Stops accepting. After this method returns, the kernel refuses connections, except if another process shares the
    /// socket (see `Listener.endListening`). Thread-safe.
    func stop() {
        queue.sync {
            guard !isStopped else { return }
            isStopped = true
            listener.endListening()
            // Resume the source once for each suspension, because a suspended source does not run its cancel handler.
            if isPaused { listenSource.resume() }
            if awaitsLoops { listenSource.resume() }
            listenSource.cancel()
        }
    }

    private func acceptConnections() {
        dispatchPrecondition(condition: .onQueue(queue))
        guard !isStopped, !awaitsLoops else { return }
        var socketsByLoop = [[AcceptedSocket]](repeating: [], count: loops.count)
        var connectionCounts = loops.map(\.connectionCount)
        var arrivals = loops.map(\.arrivalCount)
        var shortage: SystemError?
        collecting: for _ in 0..<Self.acceptsPerCall {
            guard arrivals.contains(where: { $0 < Self.maximumArrivals }) else { break }
            switch accept(listener) {
            case .connection(let socket, let peer):
                let total = connectionCounts.reduce(0, +)
                // Close the connection at once if `refusedConnections` connections already wait for an error answer.
                guard total < limits.connections + limits.refusedConnections else { continue }
                let user = peer.isUnix ? PeerUser.Identifiers(of: socket) : nil
                let clientLimit = limits.connectionsPerAddress + Self.refusedPerClient
                // `add` returns nil if the client already has `clientLimit` connections. The connection then closes.
                guard let (client, count) = counts.add(ClientKey(peer, user?.id), upTo: clientLimit) else { continue }
                let refusal = refusal(clientCount: count, total: total)
                let accepted = AcceptedSocket(socket, peer, client, refusal: refusal)
                let loopIndex = leastLoaded(connectionCounts, arrivals)
                connectionCounts[loopIndex] += 1
                arrivals[loopIndex] += 1
                loops[loopIndex].expectConnection()
                if let accepted = addUserName(to: accepted, user, for: loops[loopIndex]) {
                    socketsByLoop[loopIndex].append(accepted)
                }
            // No connection waits to be accepted.
            case .nothing: break collecting
            // The client has closed the connection before it was accepted.
            case .aborted: continue
            case .exhausted(let error):
                shortage = error
                break collecting
            }
        }
        // If this call has accepted connections, and then found no free descriptor again, the pause continues.
        if let shortage { pause(shortage) } else { endPause() }
        for (loop, sockets) in zip(loops, socketsByLoop) where !sockets.isEmpty { loop.adopt(sockets) }
        if !arrivals.contains(where: { $0 < Self.maximumArrivals }) { waitForLoops() }
    }

    /// Stops accepting until one of the loops has begun to serve its arrivals. A loop runs submitted work in order, so
    /// it calls `endWaitForLoops` after it has begun to serve the arrivals that were passed to it before.
    private func waitForLoops() {
        awaitsLoops = true
        listenSource.suspend()
        for loop in loops { loop.run { self.queue.async { self.endWaitForLoops() } } }
    }

    private func endWaitForLoops() {
        guard awaitsLoops, !isStopped else { return }
        awaitsLoops = false
        listenSource.resume()
        acceptConnections()
    }

    /// Returns the connection with the user of the peer, if the connection uses a Unix domain socket and is not
    /// refused; otherwise returns the connection unchanged. If the name of the user is not cached, returns nil, looks
    /// up the name in the background, and then passes the connection to the loop.
    private func addUserName(
        to accepted: AcceptedSocket, _ user: PeerUser.Identifiers?, for loop: EventLoop
    ) -> AcceptedSocket? {
        guard let user, accepted.refusal == nil else { return accepted }
        if let name = userNames.name(of: user.id) { return accepted.withUser(PeerUser(user, name: name)) }
        userNames.find(user.id) { name in loop.adopt([accepted.withUser(PeerUser(user, name: name))]) }
        return nil
    }

    /// Returns the reason to refuse a new connection; nil if the connection is accepted. `clientCount` is the number of
    /// connections of the client, including the new connection. `total` is the number of connections of all clients,
    /// excluding the new connection.
    private func refusal(clientCount: Int, total: Int) -> Rejection? {
        guard total < limits.connections else { return .tooManyConnections(limit: limits.connections) }
        let limit = limits.connectionsPerAddress
        return clientCount > limit ? .tooManyConnectionsOfAddress(limit: limit) : nil
    }

    /// Returns the index of the loop with the fewest connections among the loops that may get another arrival.
    private func leastLoaded(_ connectionCounts: [Int], _ arrivals: [Int]) -> Int {
        preferredLoop = (preferredLoop + 1) % loops.count
        let candidates = loops.indices.map { (preferredLoop + $0) % loops.count }
        return candidates.filter { arrivals[$0] < Self.maximumArrivals }
            .min { connectionCounts[$0] < connectionCounts[$1] } ?? preferredLoop
    }

    private func pause(_ error: SystemError) {
        if !isPaused {
            isPaused = true
            listenSource.suspend()
            log(.acceptPaused(error))
        }
        queue.asyncAfter(deadline: .now() + Self.retryInterval) { self.acceptConnections() }
    }

    private func endPause() {
        guard isPaused else { return }
        isPaused = false
        listenSource.resume()
        log(.acceptResumed)
    }
}

/// A connection that the acceptor passes to an event loop. Closes the socket if no loop removes it. Thread-safe.
final class AcceptedSocket: Sendable {
    private let socket: Mutex<Socket?>
    let peer: SocketAddress
    /// The user at the other end of a Unix domain socket; nil for TCP and for a refused connection.
    let user: PeerUser?
    /// The client whose number of connections includes this connection until the loop has closed the connection.
    let client: ClientCounts.Client
    /// The reason to refuse the connection: a limit that the connection exceeds. The loop answers with this error. Nil
    /// if the loop serves the connection.
    let refusal: Rejection?

    init(
        _ socket: consuming Socket?, _ peer: SocketAddress, _ client: ClientCounts.Client, _ user: PeerUser? = nil,
        refusal: Rejection?
    ) {
        self.socket = Mutex(socket)
        self.peer = peer
        self.user = user
        self.client = client
        self.refusal = refusal
    }

    /// Moves the socket into a new object that also has the user.
    func withUser(_ user: PeerUser) -> AcceptedSocket {
        AcceptedSocket(removeSocket(), peer, client, user, refusal: refusal)
    }

    /// Removes the socket from this object and returns it. Returns nil on later calls.
    func removeSocket() -> Socket? {
        socket.withLock { $0.take() }
    }
}
