internal import Dispatch
internal import Platform
internal import SettingsModel
internal import Synchronization

/// A connection to a server. An exchange or the pool retains the connection. The release of the last reference closes
/// the connection.
final class Connection: Sendable {
    let socket: Socket
    /// The TLS session. Nil for a connection without TLS.
    private let session: TLSSession?

    /// - Parameter host: the host that the server's certificate must name. Nil for a connection without TLS.
    init(_ socket: consuming Socket, securedFor host: String? = nil) {
        session = host.map { [descriptor = socket.descriptor] in TLSSession(over: descriptor, to: $0) }
        self.socket = socket
    }

    /// Advances the TLS handshake of a connected socket. Returns `done` for a connection without TLS.
    func handshake() -> TLSSession.Handshake { session?.handshake() ?? .done }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Socket.ReceiveResult {
        session?.receive(into: buffer) ?? socket.receive(into: buffer)
    }

    func send(_ bytes: Span<UInt8>) -> Int? {
        if let session { session.send(bytes) } else { socket.send(bytes) }
    }

    /// True if the connection is open and has no unread bytes.
    var isOpenWithoutInput: Bool { socket.hasNoInput && session?.hasPending != true }
}

/// A state machine that connects to one of the addresses of a host. The state machine never waits, but returns the
/// event to wait for.
///
/// Packets to an address may be lost without an error. Therefore the connector waits a limited time for each address,
/// and then tries the next address. After the last address, it begins another round with longer limits. It does not try
/// an address again after an error.
struct Connector {
    enum Step {
        case connected(Connection, SocketAddress)
        case waiting(Exchange.Wait)
        /// All addresses have failed. The text is the reason of the last failure.
        case failed(String)
    }

    private struct Attempt {
        let connection: Connection
        let address: SocketAddress
        /// The moment at which the connector tries the next address. Nil if no other address remains.
        let end: ContinuousClock.Instant?
    }

    /// The limit for each address in the first round. Nearly all connections need less time.
    private static let firstAttemptLimit = Duration.milliseconds(250)
    private static let longestAttemptLimit = Duration.seconds(16)
    /// The pause before another attempt to connect to a Unix domain socket whose backlog is full.
    private static let busyPause = Duration.milliseconds(5)

    /// The addresses that are not yet tried in this round.
    private var untried: ArraySlice<SocketAddress>
    /// The addresses of the next round: addresses that did not answer in time, or whose backlog was full.
    private var nextRound: [SocketAddress] = []
    /// The time limit for each address in this round.
    private var attemptLimit = Self.firstAttemptLimit
    private var attempt: Attempt?
    /// The end of the pause after an attempt with a full backlog.
    private var pauseEnd: ContinuousClock.Instant?
    /// The reason of the last failure.
    private var failure = "no address"
    /// The host that the server's certificate must name. Nil without TLS.
    private let secureHost: String?

    init(_ addresses: [SocketAddress], securedFor host: String? = nil) {
        untried = addresses[...]
        secureHost = host
    }

    mutating func advance() -> Step {
        while true {
            if let step = checkAttempt() { return step }
            guard let address = removeNextAddress() else { return .failed(failure) }
            do throws(SystemError) {
                let connection = Connection(try Socket(for: address), securedFor: secureHost)
                switch connection.socket.connect(to: address) {
                case .connected: return .connected(connection, address)
                case .inProgress:
                    let isOnlyAddress = untried.isEmpty && nextRound.isEmpty
                    attempt = Attempt(
                        connection: connection, address: address, end: isOnlyAddress ? nil : .now + attemptLimit)
                case .busy:
                    nextRound.append(address)
                    pauseEnd = .now + Self.busyPause
                case .failed(let code): failure = SystemError.text(code)
                }
            } catch {
                failure = SystemError.text(error.code)
            }
        }
    }

    /// Checks the attempt or the pause in progress. Returns nil if the next address must be tried.
    private mutating func checkAttempt() -> Step? {
        if let pauseEnd, pauseEnd > .now { return .waiting(Exchange.Wait(until: pauseEnd)) }
        pauseEnd = nil
        guard let attempt else { return nil }
        switch attempt.connection.socket.connectionState() {
        case .connected: return .connected(attempt.connection, attempt.address)
        case .inProgress, .busy:
            guard let end = attempt.end, end <= .now else {
                let descriptor = attempt.connection.socket.descriptor
                return .waiting(Exchange.Wait(descriptor: descriptor, events: .writable, until: attempt.end))
            }
            nextRound.append(attempt.address)
        case .failed(let code): failure = SystemError.text(code)
        }
        self.attempt = nil
        return nil
    }

    /// Removes and returns the next address to try. Begins another round if no untried address remains.
    private mutating func removeNextAddress() -> SocketAddress? {
        if let address = untried.popFirst() { return address }
        untried = nextRound[...]
        nextRound = []
        attemptLimit = min(attemptLimit * 4, Self.longestAttemptLimit)
        return untried.popFirst()
    }
}

/// The addresses of the host of a server: fixed addresses, or the addresses that the resolver returns for its name. The
/// result of the resolver is cached for some seconds. Thread-safe.
final class HostAddresses: Sendable {
    typealias LookUpResult = Result<[SocketAddress], ResolveError>

    private struct State {
        var cached: [SocketAddress] = []
        var cachedUntil: ContinuousClock.Instant?
        /// The address of the last successful connection.
        var preferred: SocketAddress?
        /// The completions of the calls of `lookUp(_:)` that wait for the resolver. Empty if no such call waits.
        var waiting: [@Sendable (LookUpResult) -> Void] = []

        /// The cached addresses, `preferred` first. Nil if the cache is empty or has expired.
        var unexpired: [SocketAddress]? {
            guard let cachedUntil, cachedUntil > .now else { return nil }
            return ordered(cached)
        }

        /// Returns the same addresses, `preferred` first.
        func ordered(_ addresses: [SocketAddress]) -> [SocketAddress] {
            guard let preferred, let index = addresses.firstIndex(of: preferred), index > 0 else { return addresses }
            var ordered = addresses
            ordered.insert(ordered.remove(at: index), at: 0)
            return ordered
        }
    }

    private let fixed: [SocketAddress]?
    private let resolve: @Sendable () -> LookUpResult
    private let cacheTime: Duration
    private let state = Mutex(State())

    convenience init(of address: ServerAddress) {
        self.init(fixed: Self.fixed(of: address)) {
            switch address.kind {
            case .unix: .success([])  // The addresses are fixed, so the resolver is not called.
            case .tcp(let host, let port), .https(let host, let port):
                Result { () throws(ResolveError) in try SocketAddress.resolve(host, port: port) }
            }
        }
    }

    /// - Parameters:
    ///   - fixed: the addresses, or nil to resolve the name.
    ///   - cacheTime: the lifetime of a result of the resolver. The default lets many requests in a short time share a
    ///     result.
    ///   - resolve: calls the resolver.
    init(fixed: [SocketAddress]?, cacheTime: Duration = .seconds(5), resolve: @escaping @Sendable () -> LookUpResult) {
        self.fixed = fixed
        self.cacheTime = cacheTime
        self.resolve = resolve
    }

    /// Returns the addresses of a Unix domain socket, of `localhost` or of a numeric address. Returns nil for a name
    /// that must be resolved.
    static func fixed(of address: ServerAddress) -> [SocketAddress]? {
        switch address.kind {
        case .unix(let path): [.unix(path: path)]
        case .tcp("localhost", let port), .https("localhost", let port):
            // `localhost` is always this machine. IPv4 is first, because most servers listen on IPv4.
            ["127.0.0.1", "::1"].flatMap { (try? SocketAddress.resolve($0, port: port, isNumeric: true)) ?? [] }
        case .tcp(let host, let port), .https(let host, let port):
            try? SocketAddress.resolve(host, port: port, isNumeric: true)
        }
    }

    /// The addresses, the address of the last successful connection first. Nil if the name must be resolved.
    var known: [SocketAddress]? {
        state.withLock { state in fixed.map { state.ordered($0) } ?? state.unexpired }
    }

    /// Resolves the name on the calling thread, which may take many seconds.
    func lookUp() -> LookUpResult {
        let found = resolve()
        guard case .success(let addresses) = found else { return found }
        return .success(
            state.withLock { state in
                state.cached = addresses
                state.cachedUntil = .now + cacheTime
                return state.ordered(addresses)
            })
    }

    /// Resolves the name on a thread of Dispatch, and then calls the completion. Concurrent calls of this method share
    /// one call of the resolver, because the resolver may block one of the few threads of Dispatch for a long time.
    /// Calls the completion immediately if the cache contains a valid result.
    func lookUp(_ completion: @escaping @Sendable (LookUpResult) -> Void) {
        let (known, isFirst) = state.withLock { state -> ([SocketAddress]?, Bool) in
            if let known = state.unexpired { return (known, false) }
            state.waiting.append(completion)
            return (nil, state.waiting.count == 1)
        }
        if let known { return completion(.success(known)) }
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

    func recordSuccess(_ address: SocketAddress) {
        // A host with one address needs no preferred address.
        guard fixed?.count != 1 else { return }
        state.withLock { $0.preferred = address }
    }

    /// Clears the cache and the preferred address after all addresses have failed, because the host may have other
    /// addresses now.
    func forget() {
        state.withLock { state in
            state.cachedUntil = nil
            state.preferred = nil
        }
    }
}
