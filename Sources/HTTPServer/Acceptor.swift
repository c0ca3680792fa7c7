internal import Dispatch
internal import Platform
internal import Synchronization

/// A source of connections that takes them from a listener and gives each to the loop that has the fewest.
///
/// All acceptors of a server share one queue, so that its limits hold for all together. When descriptors run out the
/// acceptor pauses, logs it once, and retries until there is one. Peers wait in the backlog meanwhile, and open connections
/// go on. While the loops have many new connections before them it accepts no more, so that those which are open have
/// their turn between them.
///
/// Unchecked because its mutable state is touched on `queue` only, which every entry checks in debug builds.
final class Acceptor: @unchecked Sendable {
    /// How connections are taken from a listener; tests put failures here.
    typealias Accept = @Sendable (Listener) -> Listener.Accepted

    /// Bounds one wake, so that stopping has its turn.
    private static let acceptsPerWake = 256
    /// The connections that a loop is given before it has begun to serve them.
    private static let mostArrivals = 128
    /// The connections beyond the limit of an address that may wait for their 429; few, as it may have no more.
    private static let refusedPerAddress = 16
    private static let pause = DispatchTimeInterval.milliseconds(50)

    private let listener: Listener
    private let loops: [EventLoop]
    private let counts: ClientCounts
    private let names: UserNames
    private var limits: TransportLimits
    private let accept: Accept
    private let log: @Sendable (TransportEvent) -> Void
    private let queue: DispatchQueue
    private let readiness: any DispatchSourceRead

    private var isPaused = false
    /// True while it waits for a loop to take up what it was given.
    private var isWaiting = false
    private var isStopped = false
    /// The loop to try first among those with equally few connections.
    private var next = 0

    init(
        _ listener: Listener, _ loops: [EventLoop], _ counts: ClientCounts, _ names: UserNames,
        limits: TransportLimits, queue: DispatchQueue,
        accept: @escaping Accept,
        log: @escaping @Sendable (TransportEvent) -> Void
    ) {
        self.listener = listener
        self.loops = loops
        self.counts = counts
        self.names = names
        self.limits = limits
        self.accept = accept
        self.log = log
        self.queue = queue
        readiness = DispatchSource.makeReadSource(fileDescriptor: listener.descriptor, queue: queue)
        readiness.setEventHandler { self.wake() }
        // The descriptor must outlive the source that watches it.
        readiness.setCancelHandler { withExtendedLifetime(listener) {} }
        readiness.activate()
    }

    /// Sets other limits. From any thread.
    func renew(_ limits: TransportLimits) {
        queue.async { self.limits = limits }
    }

    /// Refuses peers from the moment that it returns. From any thread.
    func stop() {
        queue.sync {
            guard !isStopped else { return }
            isStopped = true
            listener.endListening()
            if isPaused { readiness.resume() }
            if isWaiting { readiness.resume() }
            readiness.cancel()
        }
    }

    private func wake() {
        dispatchPrecondition(condition: .onQueue(queue))
        guard !isStopped, !isWaiting else { return }
        var batches = [[AcceptedSocket]](repeating: [], count: loops.count)
        var loads = loops.map(\.connectionCount)
        var arrivals = loops.map(\.arrivalCount)
        var shortage: SystemError?
        collecting: for _ in 0..<Self.acceptsPerWake {
            guard arrivals.contains(where: { $0 < Self.mostArrivals }) else { break }
            switch accept(listener) {
            case .connection(let socket, let peer):
                let total = loads.reduce(0, +)
                // A refused connection has a descriptor, too, until it has its answer.
                guard total < limits.connections + limits.refusedConnections else { continue }
                let user = peer.isUnix ? PeerUser.Numbers(of: socket) : nil
                let most = limits.connectionsPerAddress + Self.refusedPerAddress
                guard let (client, count) = counts.add(ClientKey(peer, user?.id), upTo: most) else { continue }
                let refusal = refusal(of: count, total: total)
                let accepted = AcceptedSocket(socket, peer, client, refusal: refusal)
                let loop = leastLoaded(loads, arrivals)
                loads[loop] += 1
                arrivals[loop] += 1
                loops[loop].expectConnection()
                if let accepted = named(accepted, user, for: loops[loop]) { batches[loop].append(accepted) }
            case .nothing: break collecting
            case .lost: continue
            case .exhausted(let error):
                shortage = error
                break collecting
            }
        }
        // One descriptor that came free does not end a shortage.
        if let shortage { pause(shortage) } else { resumed() }
        for (loop, batch) in zip(loops, batches) where !batch.isEmpty { loop.adopt(batch) }
        if !arrivals.contains(where: { $0 < Self.mostArrivals }) { awaitLoop() }
    }

    /// Goes on when the first loop has taken up what it was given.
    private func awaitLoop() {
        isWaiting = true
        readiness.suspend()
        for loop in loops {
            loop.run { self.queue.async { self.goOn() } }
        }
    }

    private func goOn() {
        guard isWaiting, !isStopped else { return }
        isWaiting = false
        readiness.resume()
        wake()
    }

    /// Returns a connection with the name of its user. If the system has to be asked, returns nil, and the loop gets the
    /// connection after that.
    private func named(
        _ accepted: AcceptedSocket, _ user: PeerUser.Numbers?, for loop: EventLoop
    ) -> AcceptedSocket? {
        guard let user, accepted.refusal == nil else { return accepted }
        if let name = names.name(of: user.id) { return accepted.of(PeerUser(user, name: name)) }
        names.find(user.id) { name in loop.adopt([accepted.of(PeerUser(user, name: name))]) }
        return nil
    }

    /// Returns the reason to refuse a connection; nil if it may stay.
    ///
    /// - Parameters:
    ///   - count: the connections of its peer, with it.
    ///   - total: the connections of all, without it.
    private func refusal(of count: Int, total: Int) -> Rejection? {
        guard total < limits.connections else { return .tooManyConnections(limit: limits.connections) }
        let most = limits.connectionsPerAddress
        return count > most ? .tooManyConnectionsOfAddress(limit: most) : nil
    }

    /// Returns the loop with the fewest connections among those that have room for an arrival.
    private func leastLoaded(_ loads: [Int], _ arrivals: [Int]) -> Int {
        next = (next + 1) % loads.count
        let inTurn = loads.indices.map { (next + $0) % loads.count }
        return inTurn.filter { arrivals[$0] < Self.mostArrivals }.min { loads[$0] < loads[$1] } ?? next
    }

    private func pause(_ error: SystemError) {
        if !isPaused {
            isPaused = true
            readiness.suspend()
            log(.acceptPaused(error))
        }
        queue.asyncAfter(deadline: .now() + Self.pause) { self.wake() }
    }

    private func resumed() {
        guard isPaused else { return }
        isPaused = false
        readiness.resume()
        log(.acceptResumed)
    }
}

/// A connection on its way from the acceptor to its loop. Closes its socket if no loop takes it.
final class AcceptedSocket: Sendable {
    private let socket: Mutex<Socket?>
    let peer: SocketAddress
    /// The user of a Unix domain socket, unless it is refused.
    let user: PeerUser?
    /// The client that it counts for.
    let client: ClientCounts.Client
    /// The limit that the connection exceeds: it gets an answer that says so, and is closed.
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

    /// Returns the connection with its user. This one has no socket then.
    func of(_ user: PeerUser) -> AcceptedSocket {
        AcceptedSocket(take(), peer, client, user, refusal: refusal)
    }

    /// Returns the socket, once.
    func take() -> Socket? {
        socket.withLock { $0.take() }
    }
}
