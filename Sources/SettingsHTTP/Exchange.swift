package import HTTPWire
internal import Platform
internal import SettingsModel

/// A state machine that sends one request and receives its answer. It never waits, but returns what to wait for. Two
/// drivers wait: one blocks a thread, and one serves many requests on one thread.
///
/// A connection from the pool may have been closed by the server just when the request went out. So a request is sent
/// again, once, on a new connection, if nothing of an answer came and it is safe to repeat.
final class Exchange {
    /// As many bytes as a socket usually has at once: the room that a driver gives.
    static let bufferSize = 65_536

    enum Progress {
        /// Goes on when this has come.
        case waiting(Wait)
        /// Goes on after ``Exchange/sign(with:)``, when the driver has read this file. The driver ends the exchange if the
        /// file cannot be read.
        case readingToken(AccessTokenFile)
        /// Goes on after `found`, when the driver has looked up the addresses of this host.
        case lookingUp(HostAddresses)
        case finished(Result<Reply, SettingsError>)
    }

    /// A descriptor to become ready for one of the events, or a moment, whatever comes first.
    struct Wait {
        /// Negative for none.
        var descriptor: Int32 = -1
        var events: PollSet.Events = []
        var until: ContinuousClock.Instant?
    }

    private enum Phase {
        /// The token has to be added to the request.
        case unsigned
        case readingToken(AccessTokenFile)
        case fresh
        case lookingUp
        case connecting(Connector)
        /// Connected, with the TLS handshake ahead if there is to be one.
        case securing(Connection)
        case talking(Connection)
    }

    private let request: Request
    private let token: AccessToken?
    private let pool: ConnectionPool
    /// The text of the token in the request.
    private var tokenText: String?
    /// The request as it is sent; empty until the token is added.
    private var bytes: [UInt8] = []
    private var phase = Phase.unsigned
    /// The read that a driver has started for this exchange.
    var pendingRead: AccessTokenFile.PendingRead?
    private var sentCount = 0
    private var takesMore = true
    private var reader = ResponseReader()
    private var hasRepeated = false
    /// True if the attempt before a repeat may have done a write.
    private var hasLostWrite = false
    /// True if all of a write was sent, or may have been, at some time: a part of one does nothing.
    private var mayHaveTakenEffect = false

    init(_ request: Request, _ pool: ConnectionPool) {
        token = pool.token
        self.request = request
        self.pool = pool
    }

    /// The outcome of the request if it ends now.
    var outcome: SettingsError.Outcome {
        mayHaveTakenEffect ? .unknown : .notDone
    }

    /// The error of the request if its deadline has passed.
    var deadlineError: SettingsError {
        if case .readingToken(let file) = phase { SettingsError(file.lateError) } else { .late(outcome: outcome) }
    }

    /// Goes as far as it can without waiting. The buffer is for received bytes.
    func advance(_ buffer: UnsafeMutableRawBufferPointer) -> Progress {
        while true {
            switch phase {
            case .unsigned:
                if let failure = addToken() { return failure }
            case .readingToken(let file): return .readingToken(file)
            case .fresh:
                if !hasRepeated, let connection = pool.removeConnection() {
                    phase = .talking(connection)
                } else if let addresses = pool.host.known {
                    found(addresses)
                } else {
                    phase = .lookingUp
                }
            case .lookingUp: return .lookingUp(pool.host)
            case .connecting(var connector):
                let step = connector.advance()
                phase = .connecting(connector)
                switch step {
                case .waiting(let wait): return .waiting(wait)
                case .connected(let connection, let address):
                    pool.host.worked(address)
                    phase = .securing(connection)
                case .failed(let reason):
                    pool.host.forget()
                    return unreachable(reason)
                }
            case .securing(let connection):
                switch connection.handshake() {
                case .done: phase = .talking(connection)
                case .waiting(let events):
                    return .waiting(Wait(descriptor: connection.socket.descriptor, events: events))
                case .failed(let reason): return unreachable(reason)
                }
            case .talking(let connection):
                if let progress = talk(on: connection, buffer) { return progress }
            }
        }
    }

    /// Adds the token to the request, unless a file has to be read first; the failure if the token cannot be sent.
    private func addToken() -> Progress? {
        switch token?.source {
        case nil: sign(with: nil)
        case .text(.success(let text)): sign(with: text)
        case .text(.failure(let error)): return .finished(.failure(SettingsError(error)))
        case .file(let file):
            if let text = file.token { sign(with: text) } else { phase = .readingToken(file) }
        }
        return nil
    }

    /// Goes on with the text of the token; nil for a request without a token.
    func sign(with text: String?) {
        var request = request
        if let text { request.fields.append("Authorization", text: "Bearer \(text)") }
        tokenText = text
        bytes = request.bytes(host: pool.hostField)
        phase = .fresh
    }

    /// Goes on with the addresses of the host.
    func found(_ addresses: [SocketAddress]) {
        phase = .connecting(Connector(addresses, securedFor: pool.address.secureHost))
    }

    /// Closes the connection, unless the pool has it; the exchange is not used after that.
    func close() {
        pendingRead?.cancel()
        phase = .fresh
    }

    /// Sends and receives; nil if there is something else to be done than to wait.
    private func talk(on connection: Connection, _ buffer: UnsafeMutableRawBufferPointer) -> Progress? {
        let hadSent = sentCount
        send(on: connection)
        // No answer comes right behind the request: it is waited for first.
        if hadSent < bytes.count, sentCount == bytes.count {
            return .waiting(Wait(descriptor: connection.socket.descriptor, events: .readable))
        }
        // The driver has a deadline, and perhaps other exchanges, also while a server sends without end.
        for _ in 0..<Self.mostReads {
            switch connection.receive(into: buffer) {
            case .nothing:
                let events: PollSet.Events =
                    takesMore && sentCount < bytes.count ? [.readable, .writable] : .readable
                return .waiting(Wait(descriptor: connection.socket.descriptor, events: events))
            case .bytes(let count):
                if let reply = receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]), connection) { return reply }
            case .end:
                return reader.receiveEnd().map(answered) ?? lost("the connection ended")
            case .failed(let code): return lost(SystemError.text(code))
            }
        }
        return .waiting(Wait(descriptor: connection.socket.descriptor, events: .readable))
    }

    /// How many buffers are read in one go.
    private static let mostReads = 16

    private func send(on connection: Connection) {
        let bytes = bytes
        while takesMore, sentCount < bytes.count {
            guard let sent = connection.send(bytes.span.extracting(sentCount...)) else {
                // It may have refused the request before it had all of it: that answer is still to be read.
                takesMore = false
                return
            }
            guard sent > 0 else { return }
            sentCount += sent
            if sentCount == bytes.count, request.isWrite { mayHaveTakenEffect = true }
        }
    }

    private func receive(_ received: UnsafeRawBufferPointer, _ connection: Connection) -> Progress? {
        do {
            let response = try received.withMemoryRebound(to: UInt8.self) { bytes throws(MessageError) in
                try reader.read(bytes.span)
            }
            guard let response else { return nil }
            // After bytes behind the answer, nothing on the connection is known to be an answer.
            if !response.closes, !reader.hasExcess, sentCount == bytes.count { pool.give(connection) }
            return answered(response)
        } catch {
            return .finished(.failure(.malformedAnswer(error.reason, outcome: outcome)))
        }
    }

    /// The connection ended before the answer did. Nil if the request goes out once more.
    private func lost(_ reason: String) -> Progress? {
        guard !reader.hasBegun, request.isRepeatable, !hasRepeated else { return unreachable(reason) }
        hasRepeated = true
        restart()
        return nil
    }

    /// True if a gateway answered instead of the daemon, and the request may be repeated.
    func isRepeatable(after result: Result<Reply, SettingsError>) -> Bool {
        guard request.isRepeatable, let reply = try? result.get() else { return false }
        return reply.isFromGateway
    }

    /// Sends the request once more.
    func restart() {
        hasLostWrite = mayHaveTakenEffect
        sentCount = 0
        takesMore = true
        reader = ResponseReader()
        phase = .fresh
    }

    private func answered(_ response: Response) -> Progress {
        if response.status == 401, case .file(let file)? = token?.source, let tokenText { file.discard(tokenText) }
        let reply = Reply(response: response, isWrite: request.isWrite, followsLostWrite: hasLostWrite)
        return .finished(.success(reply))
    }

    private func unreachable(_ reason: String) -> Progress {
        .finished(.failure(.unreachable(reason, outcome: outcome)))
    }
}

extension ConnectionPool {
    /// Sends a request and waits for the answer on the calling thread, which needs no other thread for that.
    ///
    /// A host whose name the resolver has to look up may take longer than until the deadline. Another thread reads the
    /// token, if the token is in a file that has to be read.
    package func exchange(_ request: Request, by deadline: ContinuousClock.Instant) throws(SettingsError) -> Reply {
        let exchange = Exchange(request, self)
        let result = withUnsafeTemporaryAllocation(byteCount: Exchange.bufferSize, alignment: 16) { buffer in
            Self.drive(exchange, buffer, until: deadline)
        }
        return try result.get()
    }

    /// The pauses before the repeats of a request that a gateway answers instead of the daemon.
    private static let gatewayPauses = [Duration.milliseconds(100), .milliseconds(400)]

    private static func drive(
        _ exchange: Exchange, _ buffer: UnsafeMutableRawBufferPointer, until deadline: ContinuousClock.Instant
    ) -> Result<Reply, SettingsError> {
        var (isOver, pauses) = (false, gatewayPauses[...])
        while true {
            switch exchange.advance(buffer) {
            case .finished(let result):
                guard exchange.isRepeatable(after: result), let pause = pauses.popFirst(), .now + pause < deadline
                else {
                    return result
                }
                _ = wait(Exchange.Wait(until: .now + pause), until: deadline)
                exchange.restart()
            case .readingToken(let file):
                switch file.content(by: deadline) {
                case .success(let text): exchange.sign(with: text)
                case .failure(let error): return .failure(SettingsError(error))
                }
            case .lookingUp(let host):
                switch host.lookUp() {
                case .success(let addresses): exchange.found(addresses)
                case .failure(let failure):
                    return .failure(.unreachable(failure.description, outcome: exchange.outcome))
                }
                // The resolver knows of no deadline.
                guard ContinuousClock.now < deadline else { return .failure(.late(outcome: exchange.outcome)) }
            case .waiting(let wait):
                // Bytes that are there at the deadline are still read, once: a server may send without end.
                guard !isOver, Self.wait(wait, until: deadline) else {
                    return .failure(.late(outcome: exchange.outcome))
                }
                isOver = ContinuousClock.now >= deadline
            }
        }
    }

    /// Waits for what an exchange wants; false if the deadline came before.
    private static func wait(_ wait: Exchange.Wait, until deadline: ContinuousClock.Instant) -> Bool {
        let limit = min(deadline, wait.until ?? deadline)
        while true {
            if PollSet.wait(for: wait.events, on: wait.descriptor, until: limit) { return true }
            // Nothing yet, or a signal.
            let now = ContinuousClock.now
            if now >= deadline { return false }
            if now >= limit { return true }
        }
    }
}
