internal import Dispatch
internal import Platform
internal import SettingsModel
internal import Synchronization

/// A connection to a server, which an exchange or the pool has. Closed when the last of them lets go.
final class Connection: Sendable {
    let socket: Socket
    /// Nil for a connection without TLS.
    private let session: TLSSession?

    /// - Parameter host: the host that the certificate has to be for; nil for a connection without TLS.
    init(_ socket: consuming Socket, securedFor host: String? = nil) {
        session = host.map { [descriptor = socket.descriptor] in TLSSession(over: descriptor, to: $0) }
        self.socket = socket
    }

    /// Goes on with the TLS handshake of a connected socket, if there has to be one.
    func handshake() -> TLSSession.Handshake { session?.handshake() ?? .done }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Socket.ReceiveResult {
        session?.receive(into: buffer) ?? socket.receive(into: buffer)
    }

    func send(_ bytes: Span<UInt8>) -> Int? {
        if let session { session.send(bytes) } else { socket.send(bytes) }
    }

    /// True if neither bytes nor the end have come.
    var isQuiet: Bool { socket.hasNoInput && session?.hasPending != true }
}

/// A state machine that connects to one of the addresses of a host. It never waits, but returns what to wait for.
///
/// Packets to an address may be lost without an error. Therefore an attempt has a time limit, after which the next address
/// is tried. After all addresses, the next round begins, with a longer limit. An address that fails is not tried again.
struct Connector {
    enum Step {
        case connected(Connection, SocketAddress)
        case waiting(Exchange.Wait)
        /// All addresses failed. The text is the reason of the last failure.
        case failed(String)
    }

    private struct Attempt {
        let connection: Connection
        let address: SocketAddress
        /// When the attempt ends and the next address is tried; nil if there is no other address.
        let end: ContinuousClock.Instant?
    }

    /// The time limit of an attempt in the first round. Nearly all connections are established earlier.
    private static let firstAttemptLimit = Duration.milliseconds(250)
    private static let longestAttemptLimit = Duration.seconds(16)
    /// How long to wait for a Unix domain socket whose backlog is full.
    private static let busyPause = Duration.milliseconds(5)

    /// The addresses that this round has not tried yet.
    private var rest: ArraySlice<SocketAddress>
    /// The addresses of the next round.
    private var again: [SocketAddress] = []
    private var attemptLimit = Self.firstAttemptLimit
    private var attempt: Attempt?
    private var pauseEnd: ContinuousClock.Instant?
    private var failure = "no address"
    /// The host that the certificate has to be for; nil without TLS.
    private let secureHost: String?

    init(_ addresses: [SocketAddress], securedFor host: String? = nil) {
        rest = addresses[...]
        secureHost = host
    }

    mutating func advance() -> Step {
        while true {
            if let step = check() { return step }
            guard let address = next() else { return .failed(failure) }
            do throws(SystemError) {
                let connection = Connection(try Socket(for: address), securedFor: secureHost)
                switch connection.socket.connect(to: address) {
                case .connected: return .connected(connection, address)
                case .inProgress:
                    let isAlone = rest.isEmpty && again.isEmpty
                    attempt = Attempt(
                        connection: connection, address: address, end: isAlone ? nil : .now + attemptLimit)
                case .busy:
                    again.append(address)
                    pauseEnd = .now + Self.busyPause
                case .failed(let code): failure = SystemError.text(code)
                }
            } catch {
                failure = SystemError.text(error.code)
            }
        }
    }

    /// Returns the step for the current attempt or pause; nil if the next address must be tried.
    private mutating func check() -> Step? {
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
            again.append(attempt.address)
        case .failed(let code): failure = SystemError.text(code)
        }
        self.attempt = nil
        return nil
    }

    private mutating func next() -> SocketAddress? {
        if let address = rest.popFirst() { return address }
        rest = again[...]
        again = []
        attemptLimit = min(attemptLimit * 4, Self.longestAttemptLimit)
        return rest.popFirst()
    }
}

/// The addresses of a server's host: fixed addresses, or the result of a lookup that is cached for some seconds.
final class HostAddresses: Sendable {
    typealias Found = Result<[SocketAddress], ResolveError>

    private struct State {
        var cached: [SocketAddress] = []
        /// Nil if nothing is cached.
        var cachedUntil: ContinuousClock.Instant?
        /// The address that was connected to last.
        var best: SocketAddress?
        /// The callers of the running lookup; empty if no lookup is running.
        var waiting: [@Sendable (Found) -> Void] = []

        /// The cached addresses, the best one at the front; nil if they have to be looked up.
        var unexpired: [SocketAddress]? {
            guard let cachedUntil, cachedUntil > .now else { return nil }
            return ordered(cached)
        }

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
            switch address.kind {
            case .unix: .success([])
            case .tcp(let host, let port), .https(let host, let port):
                Result { () throws(ResolveError) in try SocketAddress.resolve(host, port: port) }
            }
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
        case .tcp("localhost", let port), .https("localhost", let port):
            // This machine by definition. Most servers listen on IPv4 if on one of them.
            ["127.0.0.1", "::1"].flatMap { (try? SocketAddress.resolve($0, port: port, isNumeric: true)) ?? [] }
        case .tcp(let host, let port), .https(let host, let port):
            try? SocketAddress.resolve(host, port: port, isNumeric: true)
        }
    }

    /// The addresses, the one that worked last at the front; nil if they have to be looked up.
    var known: [SocketAddress]? {
        state.withLock { state in fixed.map { state.ordered($0) } ?? state.unexpired }
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

    /// Looks the addresses up on a thread of Dispatch, which has few: once for all callers that ask meanwhile. Calls the
    /// completion at once if another lookup has just ended.
    func lookUp(_ completion: @escaping @Sendable (Found) -> Void) {
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
