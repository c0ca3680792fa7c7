package import HTTPWire
internal import Platform
internal import SettingsModel

/// A state machine that sends one request and receives its answer. It never waits, but returns the event to wait for. A
/// *driver* waits: the calling thread (`ConnectionPool.exchange`), or the thread of an `AnswerReader`.
///
/// The server may close an idle connection at the moment at which the client sends a request over it. So the exchange
/// sends a request once more over a new connection if no byte of an answer has arrived and the repeat is safe.
final class Exchange {
    /// The size in bytes of the receive buffer that a driver provides. A socket seldom has more unread bytes.
    static let bufferSize = 65_536

    enum Progress {
        /// The driver calls `advance` again after this event.
        case waiting(Wait)
        /// The driver reads this file, and then calls ``Exchange/sign(with:)`` and `advance`. If the file cannot be
        /// read, the driver ends the exchange.
        case readingToken(AccessTokenFile)
        /// The driver resolves the name of this host, and then calls `connect(to:)` and `advance`.
        case lookingUp(HostAddresses)
        case finished(Result<Reply, SettingsError>)
    }

    /// The event that an exchange waits for: one of the events of a descriptor, or a moment, whichever is first.
    struct Wait {
        /// Negative if the exchange waits for no descriptor.
        var descriptor: Int32 = -1
        var events: PollSet.Events = []
        var until: ContinuousClock.Instant?
    }

    private enum Phase {
        /// The token has to be added to the request.
        case unsigned
        case readingToken(AccessTokenFile)
        /// The request is complete, and a connection is needed.
        case signed
        case lookingUp
        case connecting(Connector)
        /// The socket is connected. The TLS handshake follows, if the connection uses TLS.
        case securing(Connection)
        /// The exchange sends the request and receives the answer.
        case transferring(Connection)
    }

    private let request: Request
    private let token: AccessToken?
    private let pool: ConnectionPool
    private var tokenText: String?
    /// The bytes of the request with the token. Empty until the token is added.
    private var bytes: [UInt8] = []
    private var phase = Phase.unsigned
    /// The read of a token file that a driver has started for this exchange.
    var pendingRead: AccessTokenFile.PendingRead?
    private var sentCount = 0
    /// False after a send has failed. The server may still have sent an answer.
    private var canSend = true
    private var reader = ResponseReader()
    private var hasRepeated = false
    /// True if the request was sent again, and the daemon may have done the write of the first attempt.
    private var hasLostWrite = false
    /// True if all bytes of a write were sent in one of the attempts. The daemon ignores an incomplete request.
    private var mayHaveTakenEffect = false

    init(_ request: Request, _ pool: ConnectionPool) {
        token = pool.token
        self.request = request
        self.pool = pool
    }

    /// The outcome of the request if the exchange ends now without an answer.
    var outcome: SettingsError.Outcome {
        mayHaveTakenEffect ? .unknown : .notDone
    }

    /// The error of the request if its deadline has passed.
    var deadlineError: SettingsError {
        if case .readingToken(let file) = phase { SettingsError(file.lateError) } else { .late(outcome: outcome) }
    }

    /// Advances the exchange as far as possible without waiting.
    ///
    /// - Parameter buffer: memory for received bytes.
    func advance(_ buffer: UnsafeMutableRawBufferPointer) -> Progress {
        while true {
            switch phase {
            case .unsigned:
                if let failure = addToken() { return failure }
            case .readingToken(let file): return .readingToken(file)
            case .signed:
                if !hasRepeated, let connection = pool.removeConnection() {
                    phase = .transferring(connection)
                } else if let addresses = pool.host.known {
                    connect(to: addresses)
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
                    pool.host.recordSuccess(address)
                    phase = .securing(connection)
                case .failed(let reason):
                    pool.host.forget()
                    return unreachable(reason)
                }
            case .securing(let connection):
                switch connection.handshake() {
                case .done: phase = .transferring(connection)
                case .waiting(let events):
                    return .waiting(Wait(descriptor: connection.socket.descriptor, events: events))
                case .failed(let reason): return unreachable(reason)
                }
            case .transferring(let connection):
                if let progress = transfer(on: connection, buffer) { return progress }
            }
        }
    }

    /// Adds the token to the request, unless a file has to be read first. Returns the failure if the token cannot be
    /// sent.
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

    /// Serializes the request, with the text of the token as the field `Authorization`. Nil for a request without a
    /// token.
    func sign(with text: String?) {
        var request = request
        if let text { request.fields.append("Authorization", text: "Bearer \(text)") }
        tokenText = text
        bytes = request.bytes(host: pool.hostField)
        phase = .signed
    }

    /// Begins to connect to one of the addresses.
    func connect(to addresses: [SocketAddress]) {
        phase = .connecting(Connector(addresses, securedFor: pool.address.secureHost))
    }

    /// Closes the connection, unless it is back in the pool. The exchange must not be used afterwards.
    func close() {
        pendingRead?.cancel()
        phase = .signed
    }

    /// Sends and receives bytes. Returns nil if `advance` has to continue without waiting.
    private func transfer(on connection: Connection, _ buffer: UnsafeMutableRawBufferPointer) -> Progress? {
        let hadSent = sentCount
        send(on: connection)
        // The last byte of the request was sent just now, so the answer has not arrived yet.
        if hadSent < bytes.count, sentCount == bytes.count {
            return .waiting(Wait(descriptor: connection.socket.descriptor, events: .readable))
        }
        // The number of calls is limited, because the driver has to check the deadline and to advance other exchanges
        // even if a server sends without end.
        for _ in 0..<Self.maxReads {
            switch connection.receive(into: buffer) {
            case .nothing:
                let events: PollSet.Events =
                    canSend && sentCount < bytes.count ? [.readable, .writable] : .readable
                return .waiting(Wait(descriptor: connection.socket.descriptor, events: events))
            case .bytes(let count):
                if let reply = receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]), connection) { return reply }
            case .end:
                return reader.receiveEnd().map(answered) ?? handleLostConnection("the connection ended")
            case .failed(let code): return handleLostConnection(SystemError.text(code))
            }
        }
        return .waiting(Wait(descriptor: connection.socket.descriptor, events: .readable))
    }

    /// The maximum number of calls of `receive` in one call of `transfer`.
    private static let maxReads = 16

    private func send(on connection: Connection) {
        let bytes = bytes
        while canSend, sentCount < bytes.count {
            guard let sent = connection.send(bytes.span.extracting(sentCount...)) else {
                // The server may have refused the request before it has received the whole request. Therefore the
                // exchange still reads the answer.
                canSend = false
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
            // If there are bytes after the answer, later bytes on the connection may not be the answer to the next
            // request.
            if !response.closes, !reader.hasExcess, sentCount == bytes.count { pool.keepIdle(connection) }
            return answered(response)
        } catch {
            return .finished(.failure(.malformedAnswer(error.reason, outcome: outcome)))
        }
    }

    /// Handles the end of the connection before the end of the answer. Returns nil if the request is sent once more.
    private func handleLostConnection(_ reason: String) -> Progress? {
        guard !reader.hasBegun, request.isRepeatable, !hasRepeated else { return unreachable(reason) }
        hasRepeated = true
        restart()
        return nil
    }

    /// Returns true if the answer is from a gateway that cannot reach the daemon, and the request may be sent again.
    func isRepeatable(after result: Result<Reply, SettingsError>) -> Bool {
        guard request.isRepeatable, let reply = try? result.get() else { return false }
        return reply.isFromGateway
    }

    /// Prepares the exchange to send the request once more.
    func restart() {
        hasLostWrite = mayHaveTakenEffect
        sentCount = 0
        canSend = true
        reader = ResponseReader()
        phase = .signed
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
    /// Sends a request and waits for the answer on the calling thread.
    ///
    /// If the resolver has to resolve the name of the host, the call may last longer than until the deadline. If the
    /// token is in a file, another thread reads the file.
    package func exchange(_ request: Request, by deadline: ContinuousClock.Instant) throws(SettingsError) -> Reply {
        let exchange = Exchange(request, self)
        let result = withUnsafeTemporaryAllocation(byteCount: Exchange.bufferSize, alignment: 16) { buffer in
            Self.drive(exchange, buffer, until: deadline)
        }
        return try result.get()
    }

    /// The pauses before the repeats of a request, if a gateway answers that it cannot reach the daemon.
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
                case .success(let addresses): exchange.connect(to: addresses)
                case .failure(let failure):
                    return .failure(.unreachable(failure.description, outcome: exchange.outcome))
                }
                // The resolver has no deadline.
                guard ContinuousClock.now < deadline else { return .failure(.late(outcome: exchange.outcome)) }
            case .waiting(let wait):
                // Bytes that have arrived at the deadline are still read, but only once, because a server may send
                // without end.
                guard !isOver, Self.wait(wait, until: deadline) else {
                    return .failure(.late(outcome: exchange.outcome))
                }
                isOver = ContinuousClock.now >= deadline
            }
        }
    }

    /// Waits for the event of an exchange. Returns false if the deadline has passed before the event.
    private static func wait(_ wait: Exchange.Wait, until deadline: ContinuousClock.Instant) -> Bool {
        let limit = min(deadline, wait.until ?? deadline)
        while true {
            if PollSet.wait(for: wait.events, on: wait.descriptor, until: limit) { return true }
            // The time is over, or a signal has interrupted the wait.
            let now = ContinuousClock.now
            if now >= deadline { return false }
            if now >= limit { return true }
        }
    }
}
