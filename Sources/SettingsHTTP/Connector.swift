internal import Platform

/// A connection to a server, which an exchange or the pool has. Closed when the last of them lets go.
final class Connection: Sendable {
    let socket: Socket

    init(_ socket: consuming Socket) {
        self.socket = socket
    }
}

/// A state machine that connects to one of the addresses of a host. It never waits: it says what for.
///
/// Packets to an address may be lost without an error. So each address has its turn for a while, and once more and for
/// longer when all others had theirs. One that fails is not tried again.
struct Connector {
    enum Step {
        case connected(Connection, SocketAddress)
        case waiting(Exchange.Wait)
        /// Nothing is left to be tried; with the reason of the last failure.
        case failed(String)
    }

    private struct Attempt {
        let connection: Connection
        let address: SocketAddress
        /// When it is the turn of the next address; nil if there is none.
        let end: ContinuousClock.Instant?
    }

    /// How long the first turn is. Nearly all new connections take less.
    private static let firstTurn = Duration.milliseconds(250)
    private static let longestTurn = Duration.seconds(16)
    /// How long to wait for a Unix domain socket whose backlog is full.
    private static let busyPause = Duration.milliseconds(5)

    /// Addresses to be tried in this round.
    private var rest: ArraySlice<SocketAddress>
    /// Addresses of the next round.
    private var again: [SocketAddress] = []
    private var turn = Self.firstTurn
    private var attempt: Attempt?
    private var pauseEnd: ContinuousClock.Instant?
    private var failure = "no address"

    init(_ addresses: [SocketAddress]) {
        rest = addresses[...]
    }

    mutating func advance() -> Step {
        while true {
            if let step = check() { return step }
            guard let address = next() else { return .failed(failure) }
            do throws(SystemError) {
                let connection = Connection(try Socket(for: address))
                switch connection.socket.connect(to: address) {
                case .connected: return .connected(connection, address)
                case .inProgress:
                    let isAlone = rest.isEmpty && again.isEmpty
                    attempt = Attempt(connection: connection, address: address, end: isAlone ? nil : .now + turn)
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

    /// Looks at the attempt or the pause that is under way; nil if another address is to be tried.
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
        turn = min(turn * 4, Self.longestTurn)
        return rest.popFirst()
    }
}
