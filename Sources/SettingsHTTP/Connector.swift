internal import Glibc

/// Gets a connection to one of the addresses of a host. It never waits: whoever drives it is told what for.
///
/// What is sent to an address may be swallowed without a word. So each has its turn for a while, and as it may only have
/// been slow, again and for longer when all others had theirs. One that fails is not tried again.
struct Connector {
    enum Step {
        case connected(OpenSocket, SocketAddress)
        case waiting(Exchange.Wait)
        /// There is nothing left to be tried; with why the last attempt failed.
        case failed(Int32?)
    }

    private struct Attempt {
        let socket: OpenSocket
        let address: SocketAddress
        /// When it is the turn of the next; nil if there is none.
        let end: ContinuousClock.Instant?
    }

    /// How long the first turn is. Elsewhere a new connection takes less, nearly always.
    static let firstTurn = Duration.milliseconds(250)
    /// How long the longest is.
    static let longestTurn = Duration.seconds(16)
    /// After how long somebody is asked again who had no room.
    static let crowdedPause = Duration.milliseconds(5)

    /// Whose turn is still to come in this round.
    private var rest: ArraySlice<SocketAddress>
    /// Who is in the next one.
    private var again: [SocketAddress] = []
    private var turn = Self.firstTurn
    private var attempt: Attempt?
    private var pauseEnd: ContinuousClock.Instant?
    private var code: Int32?

    init(_ addresses: [SocketAddress]) {
        rest = addresses[...]
    }

    mutating func advance() -> Step {
        while true {
            if let step = look() { return step }
            guard let address = next() else { return .failed(code) }
            guard let socket = OpenSocket(family: address.family) else {
                code = errno
                continue
            }
            switch socket.connect(to: address) {
            case .done: return .connected(socket, address)
            case .underWay:
                let isAlone = rest.isEmpty && again.isEmpty
                attempt = Attempt(socket: socket, address: address, end: isAlone ? nil : .now + turn)
            case .crowded:
                again.append(address)
                pauseEnd = .now + Self.crowdedPause
            case .failed(let failure): code = failure
            }
        }
    }

    /// What has become of the attempt or the pause; nil if something else is to be tried.
    private mutating func look() -> Step? {
        if let pauseEnd, pauseEnd > .now { return .waiting(Exchange.Wait(until: pauseEnd)) }
        pauseEnd = nil
        guard let attempt else { return nil }
        switch attempt.socket.connected() {
        case .done: return .connected(attempt.socket, attempt.address)
        case .underWay, .crowded:
            guard let end = attempt.end, end <= .now else {
                return .waiting(
                    Exchange.Wait(
                        descriptor: attempt.socket.descriptor, events: Int16(POLLOUT), until: attempt.end))
            }
            again.append(attempt.address)
        case .failed(let failure): code = failure
        }
        self.attempt = nil
        return nil
    }

    private mutating func next() -> SocketAddress? {
        if let address = rest.popFirst() { return address }
        rest = again[...]
        again = []
        turn = min(turn * 4, Self.longestTurn)
        return rest.popFirst()
    }
}
