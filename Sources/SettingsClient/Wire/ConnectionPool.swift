internal import Dispatch
internal import Synchronization

/// The connections to one server that nobody uses at present.
///
/// Each request has a connection of its own for as long as it takes, so that none waits behind a long one.
final class ConnectionPool: Sendable {
    /// How many are kept unless told otherwise.
    static let mostKept = 8

    private struct Kept {
        let socket: OpenSocket
        let since: ContinuousClock.Instant
    }

    private struct State {
        /// The one used last stands last, and is used first.
        var kept: [Kept] = []
        var isSweepPlanned = false
        var isClosed = false
    }

    let address: ServerAddress
    /// What requests say in `Host`.
    let hostField: String
    /// The addresses to connect to; nil where the name of the host has to be looked up.
    let addresses: [SocketAddress]?
    /// What takes requests where no socket of this pool can; nil if the program has none. Asked when it is needed, as it
    /// may come after the pool.
    let carrier: @Sendable () -> (any Carrier)?
    private let mostKept: Int
    private let idleLimit: Duration?
    private let state = Mutex(State())

    /// `idleLimit` is how long a connection is kept without use; daemons wait a little longer. Nil for whoever takes it
    /// again at once or lets go of the pool.
    init(
        _ address: ServerAddress, keeping mostKept: Int = ConnectionPool.mostKept, idleLimit: Duration? = .seconds(60),
        carrier: @escaping @Sendable () -> (any Carrier)? = { Carriers.current }
    ) {
        self.address = address
        hostField = address.hostField
        self.mostKept = mostKept
        self.idleLimit = idleLimit
        self.carrier = carrier
        addresses = SocketAddress.known(for: address)
    }

    var keptCount: Int { state.withLock { $0.kept.count } }

    /// A connection that was open a moment ago; nil if there is none.
    func take() -> OpenSocket? {
        while let kept = state.withLock({ $0.kept.popLast() }) {
            if kept.socket.isQuiet { return kept.socket }
        }
        return nil
    }

    /// Closes what is kept, and keeps nothing from here on.
    func close() {
        // What is taken out is closed after the lock is free.
        _ = state.withLock { state in
            state.isClosed = true
            defer { state.kept = [] }
            return state.kept
        }
    }

    /// Keeps a connection whose last answer is complete.
    func give(_ socket: OpenSocket) {
        let (dropped, plansSweep) = state.withLock { state -> (Kept?, Bool) in
            guard !state.isClosed else { return (nil, false) }
            state.kept.append(Kept(socket: socket, since: .now))
            let dropped = state.kept.count > mostKept ? state.kept.removeFirst() : nil
            defer { state.isSweepPlanned = true }
            return (dropped, !state.isSweepPlanned)
        }
        _ = dropped
        if plansSweep, let idleLimit { planSweep(after: idleLimit) }
    }

    /// Has what was idle for too long closed, so that a program that has nothing to say holds no descriptors.
    private func planSweep(after idleLimit: Duration) {
        let (seconds, fraction) = idleLimit.components
        let time = DispatchTime.now() + .seconds(Int(seconds)) + .nanoseconds(Int(fraction / 1_000_000_000))
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: time) { [weak self] in self?.sweep(idleLimit) }
    }

    private func sweep(_ idleLimit: Duration) {
        let limit = ContinuousClock.now - idleLimit
        let (dropped, plansSweep) = state.withLock { state -> ([Kept], Bool) in
            let dropped = state.kept.filter { $0.since <= limit }
            state.kept.removeAll { $0.since <= limit }
            state.isSweepPlanned = !state.kept.isEmpty
            return (dropped, state.isSweepPlanned)
        }
        _ = dropped
        if plansSweep { planSweep(after: idleLimit) }
    }
}
