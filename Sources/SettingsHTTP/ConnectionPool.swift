internal import Dispatch
package import SettingsModel
internal import Synchronization

/// The connections to one server that nobody uses at present.
///
/// Each request has a connection of its own for as long as it takes, so that none waits behind a long one.
package final class ConnectionPool: Sendable {
    /// How many are kept unless told otherwise.
    package static let mostKept = 8

    private struct State {
        var kept: KeptConnections
        var isSweepPlanned = false
        var isClosed = false
    }

    package let address: ServerAddress
    /// What requests say in `Host`.
    let hostField: String
    /// The addresses to connect to.
    let host: HostAddresses
    /// What takes requests where no socket of this pool can; nil if the program has none. Asked when it is needed, as it
    /// may come after the pool.
    package let carrier: @Sendable () -> (any Carrier)?
    private let state: Mutex<State>

    /// `idleLimit` is how long a connection is kept without use; daemons wait a little longer. Nil for whoever takes it
    /// again at once or lets go of the pool. `host` is where to connect to, if not where the address says.
    package convenience init(
        _ address: ServerAddress, keeping mostKept: Int = ConnectionPool.mostKept, idleLimit: Duration? = .seconds(60)
    ) {
        self.init(address, keeping: mostKept, idleLimit: idleLimit, host: nil, carrier: { Carriers.current })
    }

    init(
        _ address: ServerAddress, keeping mostKept: Int = ConnectionPool.mostKept, idleLimit: Duration? = .seconds(60),
        host: HostAddresses? = nil, carrier: @escaping @Sendable () -> (any Carrier)? = { Carriers.current }
    ) {
        self.address = address
        hostField = address.hostField
        self.host = host ?? HostAddresses(of: address)
        self.carrier = carrier
        state = Mutex(State(kept: KeptConnections(most: mostKept, idleLimit: idleLimit)))
    }

    var keptCount: Int { state.withLock { $0.kept.count } }

    /// A connection that was open a moment ago; nil if there is none.
    func take() -> OpenSocket? {
        // What is too old is closed after the lock is free.
        while let socket = state.withLock({ $0.kept.take(at: .now) }).socket {
            if socket.isQuiet { return socket }
        }
        return nil
    }

    /// Closes what is kept, and keeps nothing from here on.
    package func close() {
        _ = state.withLock { state in
            state.isClosed = true
            return state.kept.removeAll()
        }
    }

    /// Keeps a connection whose last answer is complete.
    func give(_ socket: OpenSocket) {
        let (dropped, end) = state.withLock { state -> (OpenSocket?, ContinuousClock.Instant?) in
            guard !state.isClosed else { return (nil, nil) }
            let dropped = state.kept.give(socket, at: .now)
            guard !state.isSweepPlanned, let end = state.kept.nextEnd else { return (dropped, nil) }
            state.isSweepPlanned = true
            return (dropped, end)
        }
        _ = dropped
        if let end { planSweep(at: end) }
    }

    /// Has what was idle for too long closed, so that a program that has nothing to say holds no descriptors.
    private func planSweep(at time: ContinuousClock.Instant) {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .after(time - .now)) { [weak self] in self?.sweep() }
    }

    private func sweep() {
        let (dropped, end) = state.withLock { state in
            let dropped = state.kept.removeOld(at: .now)
            state.isSweepPlanned = state.kept.nextEnd != nil
            return (dropped, state.kept.nextEnd)
        }
        _ = dropped
        if let end { planSweep(at: end) }
    }
}
