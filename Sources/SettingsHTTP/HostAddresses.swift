internal import Dispatch
internal import Synchronization

/// The addresses of a server's host: known from the beginning, or looked up and kept for some seconds.
final class HostAddresses: Sendable {
    typealias Found = Result<[SocketAddress], SocketAddress.LookupFailure>

    private struct State {
        var kept: [SocketAddress] = []
        /// Nil if nothing is kept.
        var keptUntil: ContinuousClock.Instant?
        /// The one that was connected to last.
        var best: SocketAddress?
        /// Who waits for the look-up that is under way; nobody if there is none.
        var waiting: [@Sendable (Found) -> Void] = []

        /// The same addresses, the best one at the front.
        func ordered(_ addresses: [SocketAddress]) -> [SocketAddress] {
            guard let best, let index = addresses.firstIndex(of: best), index > 0 else { return addresses }
            var ordered = addresses
            ordered.insert(ordered.remove(at: index), at: 0)
            return ordered
        }
    }

    /// How long what was looked up is good for: so much that a burst of requests asks once.
    static let keeping = Duration.seconds(5)

    private let fixed: [SocketAddress]?
    private let resolve: @Sendable () -> Found
    private let keeping: Duration
    private let state = Mutex(State())

    convenience init(of address: ServerAddress) {
        self.init(fixed: SocketAddress.known(for: address)) {
            guard case .tcp(let host, let port) = address.kind else { return .success([]) }
            return Result { () throws(SocketAddress.LookupFailure) in try SocketAddress.lookUp(host, port) }
        }
    }

    /// Without fixed addresses they are what is resolved.
    init(
        fixed: [SocketAddress]?, keeping: Duration = HostAddresses.keeping, resolve: @escaping @Sendable () -> Found
    ) {
        self.fixed = fixed
        self.keeping = keeping
        self.resolve = resolve
    }

    /// The addresses, the one that worked last at the front; nil if they have to be looked up.
    var known: [SocketAddress]? {
        state.withLock { state in
            if let fixed { return state.ordered(fixed) }
            guard let until = state.keptUntil, until > .now else { return nil }
            return state.ordered(state.kept)
        }
    }

    /// Looks them up on the calling thread, which may take its time.
    func lookUp() -> Found {
        let found = resolve()
        guard case .success(let addresses) = found else { return found }
        return .success(
            state.withLock { state in
                state.kept = addresses
                state.keptUntil = .now + keeping
                return state.ordered(addresses)
            })
    }

    /// Looks them up beside, once for all who ask meanwhile: Dispatch has few threads.
    func lookUp(_ completion: @escaping @Sendable (Found) -> Void) {
        let isFirst = state.withLock { state in
            state.waiting.append(completion)
            return state.waiting.count == 1
        }
        guard isFirst else { return }
        DispatchQueue.global().async { [self] in
            let found = lookUp()
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for completion in waiting { completion(found) }
        }
    }

    /// Somebody was reached there.
    func worked(_ address: SocketAddress) {
        // Most have one.
        guard fixed?.count != 1 else { return }
        state.withLock { $0.best = address }
    }

    /// Nobody was reached anywhere: the host may have others by now.
    func forget() {
        state.withLock { state in
            state.keptUntil = nil
            state.best = nil
        }
    }
}
