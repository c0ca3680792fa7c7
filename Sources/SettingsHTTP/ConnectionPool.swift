package import Dispatch
internal import Platform
package import SettingsModel
internal import Synchronization

/// A pool of idle connections to one server.
///
/// Each request has its own connection until it ends, so no request waits for another request.
package final class ConnectionPool: Sendable {
    /// The default of the maximum number of idle connections.
    package static let defaultLimit = 8

    private struct Idle {
        let connection: Connection
        let since: ContinuousClock.Instant
    }

    private struct State {
        /// The idle connections, in the order in which they became idle. The last connection is used first.
        var idle: [Idle] = []
        /// True if a call of `sweep` is scheduled.
        var isSweepPlanned = false
        var isClosed = false
    }

    package let address: ServerAddress
    /// The value of the header field `Host`.
    let hostField: String
    let host: HostAddresses
    /// The token of this pool. Nil to use the token of the process, `AccessToken.standard`.
    private let ownToken: AccessToken?
    private let limit: Int
    private let idleLimit: Duration?
    private let state = Mutex(State())

    /// Creates a pool.
    ///
    /// - Parameters:
    ///   - address: the address of the server.
    ///   - limit: the maximum number of idle connections.
    ///   - idleLimit: the maximum time for which a connection is idle before the pool closes it. It should be less than
    ///     the idle timeout of the daemon. Nil if the owner of the pool closes the connections.
    ///   - token: the token of the requests. Nil to use the token of the process, `AccessToken.standard`.
    package convenience init(
        _ address: ServerAddress, keeping limit: Int = ConnectionPool.defaultLimit,
        idleLimit: Duration? = .seconds(60), token: AccessToken? = nil
    ) {
        self.init(address, keeping: limit, idleLimit: idleLimit, host: nil, token: token)
    }

    /// The token that requests contain. Nil if they contain no token.
    var token: AccessToken? { ownToken ?? .standard }

    init(
        _ address: ServerAddress, keeping limit: Int = ConnectionPool.defaultLimit, idleLimit: Duration? = .seconds(60),
        host: HostAddresses?, token: AccessToken? = nil
    ) {
        self.address = address
        hostField = address.hostField
        self.host = host ?? HostAddresses(of: address)
        ownToken = token
        self.limit = limit
        self.idleLimit = idleLimit
    }

    var idleCount: Int { state.withLock { $0.idle.count } }

    /// Removes and returns the connection that was used last and is still open. Returns nil if there is no open
    /// connection.
    func removeConnection(at now: ContinuousClock.Instant = .now) -> Connection? {
        while true {
            // The expired connections are released, and so closed, after the closure, so that the lock is not held
            // during the system calls.
            let (connection, expired) = state.withLock { state in
                let expired = removeExpired(&state, at: now)
                return (state.idle.popLast()?.connection, expired)
            }
            _ = expired
            guard let connection else { return nil }
            if connection.isOpenWithoutInput { return connection }
        }
    }

    /// Adds a connection to the idle connections. The last answer on the connection must be complete.
    func keepIdle(_ connection: Connection, at now: ContinuousClock.Instant = .now) {
        let (dropped, sweep) = state.withLock { state -> (Idle?, ContinuousClock.Instant?) in
            guard !state.isClosed else { return (nil, nil) }
            state.idle.append(Idle(connection: connection, since: now))
            let dropped = state.idle.count > limit ? state.idle.removeFirst() : nil
            return (dropped, planSweep(&state))
        }
        _ = dropped  // The release of the last reference closes the connection.
        if let sweep { sweepLater(at: sweep) }
    }

    /// Closes all idle connections. After this call, the pool keeps no connection.
    package func close() {
        _ = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
    }

    /// Closes the connections that were idle for too long, so that an idle program has no open connections.
    func sweep(at now: ContinuousClock.Instant = .now) {
        let (expired, next) = state.withLock { state in
            let expired = removeExpired(&state, at: now)
            state.isSweepPlanned = false
            return (expired, planSweep(&state))
        }
        _ = expired  // The release of the last references closes the connections.
        if let next { sweepLater(at: next) }
    }

    /// Removes and returns the connections that were idle for too long.
    private func removeExpired(_ state: inout State, at now: ContinuousClock.Instant) -> [Idle] {
        guard let idleLimit else { return [] }
        let expired = state.idle.prefix { $0.since + idleLimit <= now }
        state.idle.removeFirst(expired.count)
        return Array(expired)
    }

    /// Returns the moment of the next sweep if the caller must schedule the sweep.
    private func planSweep(_ state: inout State) -> ContinuousClock.Instant? {
        guard !state.isSweepPlanned, let idleLimit, let oldest = state.idle.first else { return nil }
        state.isSweepPlanned = true
        return oldest.since + idleLimit
    }

    private func sweepLater(at time: ContinuousClock.Instant) {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .after(time - .now)) { [weak self] in self?.sweep() }
    }
}

extension DispatchTime {
    /// Returns the end of a pause that begins now.
    package static func after(_ pause: Duration) -> DispatchTime {
        let (seconds, fraction) = pause.bounded.components
        return .now() + .seconds(Int(seconds)) + .nanoseconds(Int(fraction / 1_000_000_000))
    }
}

extension Duration {
    /// The duration, but at most 68 years. The sum of the present time and a much longer duration could overflow.
    package var bounded: Duration { min(self, .seconds(1 << 31)) }
}
