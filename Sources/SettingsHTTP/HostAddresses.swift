internal import Dispatch
internal import Platform
internal import SettingsModel
internal import Synchronization

/// The addresses of a server's host: fixed, or looked up and cached for some seconds.
final class HostAddresses: Sendable {
    typealias Found = Result<[SocketAddress], ResolveError>

    private struct State {
        var cached: [SocketAddress] = []
        /// Nil if nothing is cached.
        var cachedUntil: ContinuousClock.Instant?
        /// The address that was connected to last.
        var best: SocketAddress?
        /// The callers of the look-up that is under way; empty if there is none.
        var waiting: [@Sendable (Found) -> Void] = []

        /// The same addresses, the best one at the front.
        func ordered(_ addresses: [SocketAddress]) -> [SocketAddress] {
            guard let best, let index = addresses.firstIndex(of: best), index > 0 else { return addresses }
            var ordered = addresses
            ordered.insert(ordered.remove(at: index), at: 0)
            return ordered
        }
    }

    private let fixed: [SocketAddress]?
    private let resolve: @Sendable () -> Found
    private let cacheTime: Duration
    private let state = Mutex(State())

    convenience init(of address: ServerAddress) {
        self.init(fixed: Self.fixed(of: address)) {
            guard case .tcp(let host, let port) = address.kind else { return .success([]) }
            return Result { () throws(ResolveError) in try SocketAddress.resolve(host, port: port) }
        }
    }

    /// Without fixed addresses they are what is resolved. The cache time is long enough that a burst of requests asks once.
    init(fixed: [SocketAddress]?, cacheTime: Duration = .seconds(5), resolve: @escaping @Sendable () -> Found) {
        self.fixed = fixed
        self.cacheTime = cacheTime
        self.resolve = resolve
    }

    /// The addresses that need no resolver; nil for a name that has to be looked up.
    static func fixed(of address: ServerAddress) -> [SocketAddress]? {
        switch address.kind {
        case .unix(let path): [.unix(path: path)]
        // The carrier resolves for itself.
        case .https: []
        case .tcp("localhost", let port):
            // This machine by definition. Most servers listen on IPv4 if on one of them.
            ["127.0.0.1", "::1"].flatMap { (try? SocketAddress.resolve($0, port: port, isNumeric: true)) ?? [] }
        case .tcp(let host, let port): try? SocketAddress.resolve(host, port: port, isNumeric: true)
        }
    }

    /// The addresses, the one that worked last at the front; nil if they have to be looked up.
    var known: [SocketAddress]? {
        state.withLock { state in
            if let fixed { return state.ordered(fixed) }
            guard let until = state.cachedUntil, until > .now else { return nil }
            return state.ordered(state.cached)
        }
    }

    /// Looks the addresses up on the calling thread, which may take many seconds.
    func lookUp() -> Found {
        let found = resolve()
        guard case .success(let addresses) = found else { return found }
        return .success(
            state.withLock { state in
                state.cached = addresses
                state.cachedUntil = .now + cacheTime
                return state.ordered(addresses)
            })
    }

    /// Looks the addresses up on a thread of Dispatch, which has few: once for all callers that ask meanwhile.
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

    /// Takes note that a connection to the address was made.
    func worked(_ address: SocketAddress) {
        // Most hosts have one address.
        guard fixed?.count != 1 else { return }
        state.withLock { $0.best = address }
    }

    /// Drops what is cached, as no address worked: the host may have others by now.
    func forget() {
        state.withLock { state in
            state.cachedUntil = nil
            state.best = nil
        }
    }
}
