package import HTTPWire
internal import Platform
internal import SettingsModel

/// A state machine that sends one request and receives its answer. The state machine never waits, but returns the event
/// to wait for. A *driver* waits for the event: the calling thread (`ConnectionPool.exchange`), or the thread of an
/// `AnswerReader`.
///
/// The server may close an idle connection while the client sends a request over the connection. Therefore, if no byte
/// of an answer has arrived and a repetition is safe (`Request.isRepeatable`: a read, or a write with an idempotency
/// key), the exchange sends the request once more over a new connection.
final class Exchange {
    /// The size in bytes of the receive buffer that a driver provides. One receive call seldom fills the buffer.
    static let bufferSize = 65_536

    enum Progress {
        /// The driver calls `advance` again after this event.
        case waiting(Wait)
        /// The driver reads this file, and then calls ``Exchange/serializeRequest(token:)`` and `advance`. If the file
        /// cannot be read, the driver ends the exchange.
        case readingToken(AccessTokenFile)
        /// The driver resolves the name of this host, and then calls `connect(to:)` and `advance`.
        case lookingUp(HostAddresses)
        case finished(Result<Reply, SettingsError>)
    }

    /// The wait of an exchange. The wait ends at one of the events of a descriptor or at a moment, whichever comes
    /// first.
    struct Wait {
        /// Negative if the exchange waits for no descriptor.
        var descriptor: Int32 = -1
        var events: PollSet.Events = []
        var until: ContinuousClock.Instant?
    }

    private enum Phase {
        /// The request is not yet serialized, because the exchange needs the text of the token.
        case needsToken
        case readingToken(AccessTokenFile)
        /// The request is serialized, and the exchange needs a connection.
        case needsConnection
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
    /// The token in the request; nil for a request without a token.
    private var tokenText: String?
    /// The serialized request. Empty until the text of the token is known.
    private var bytes: [UInt8] = []
    private var phase = Phase.needsToken
    /// The read of a token file that a driver has started for this exchange.
    var pendingRead: AccessTokenFile.PendingRead?
    /// The number of bytes that were sent in the present attempt.
    private var sentCount = 0
    /// False after a send has failed.
    private var canSend = true
    private var reader = ResponseReader()
    /// True if the request was sent once more because the connection was lost.
    private var hasRepeated = false
    /// True if this is not the first attempt, and the daemon may have done the write at an earlier attempt.
    private var hasUnansweredWrite = false
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
        if case .readingToken(let file) = phase { SettingsError(file.timeoutError) } else { .timeout(outcome: outcome) }
    }

    /// Advances the exchange as far as possible without waiting.
    ///
    /// - Parameter buffer: memory for received bytes.
    func advance(_ buffer: UnsafeMutableRawBufferPointer) -> Progress {
        while true {
            switch phase {
            case .needsToken:
                if let failure = addToken() { return failure }
            case .readingToken(let file): return .readingToken(file)
            case .needsConnection:
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

    /// Serializes the request with its token, unless a file must be read first. Returns the failure if the token is not
    /// valid.
    private func addToken() -> Progress? {
        switch token?.source {
        case nil: serializeRequest(token: nil)
        case .text(.success(let text)): serializeRequest(token: text)
        case .text(.failure(let error)): return .finished(.failure(SettingsError(error)))
        case .file(let file):
            if let text = file.token { serializeRequest(token: text) } else { phase = .readingToken(file) }
        }
        return nil
    }

    /// Serializes the request, with the token in the field `Authorization` unless the token is nil.
    func serializeRequest(token text: String?) {
        var request = request
        if let text { request.fields.append("Authorization", text: "Bearer \(text)") }
        tokenText = text
        bytes = request.bytes(host: pool.hostField)
        phase = .needsConnection
    }

    /// Begins to connect to one of the addresses.
    func connect(to addresses: [SocketAddress]) {
        phase = .connecting(Connector(addresses, securedFor: pool.address.secureHost))
    }

    /// Releases the connection. This closes the connection, unless it is back in the pool. Do not use the exchange
    /// after this call.
    func close() {
        pendingRead?.cancel()
        phase = .needsConnection
    }

    /// Sends and receives bytes. Returns nil if the request is sent once more, so that `advance` must continue.
    private func transfer(on connection: Connection, _ buffer: UnsafeMutableRawBufferPointer) -> Progress? {
        let sentBefore = sentCount
        send(on: connection)
        // The last byte of the request was sent just now, so an attempt to receive the answer would find nothing.
        if sentBefore < bytes.count, sentCount == bytes.count {
            return .waiting(Wait(descriptor: connection.socket.descriptor, events: .readable))
        }
        // The number of calls is limited, because the driver must check the deadline and advance other exchanges even
        // if a server sends without end.
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
                // The server may have refused the request, and closed the connection, before it received the whole
                // request. Therefore the exchange still reads the answer.
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
            // If there are bytes after the answer, the client and the server disagree about the end of the answer. The
            // next request on the connection could get a wrong answer.
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
    func mayRepeat(after result: Result<Reply, SettingsError>) -> Bool {
        guard request.isRepeatable, let reply = try? result.get() else { return false }
        return reply.isFromGateway
    }

    /// Prepares the exchange to send the request once more.
    func restart() {
        hasUnansweredWrite = mayHaveTakenEffect
        sentCount = 0
        canSend = true
        reader = ResponseReader()
        phase = .needsConnection
    }

    private func answered(_ response: Response) -> Progress {
        if response.status == 401, case .file(let file)? = token?.source, let tokenText { file.discard(tokenText) }
        let reply = Reply(response: response, isWrite: request.isWrite, followsUnansweredWrite: hasUnansweredWrite)
        return .finished(.success(reply))
    }

    private func unreachable(_ reason: String) -> Progress {
        .finished(.failure(.unreachable(reason, outcome: outcome)))
    }
}

extension ConnectionPool {
    /// Sends a request and waits for the answer on the calling thread.
    ///
    /// If the name of the host must be resolved, the call may end after the deadline, because the resolver has no
    /// deadline. If the token is in a file, another thread reads the file.
    package func exchange(_ request: Request, by deadline: ContinuousClock.Instant) throws(SettingsError) -> Reply {
        let exchange = Exchange(request, self)
        let result = withUnsafeTemporaryAllocation(byteCount: Exchange.bufferSize, alignment: 16) { buffer in
            Self.drive(exchange, buffer, until: deadline)
        }
        return try result.get()
    }

    /// The pauses before a request is repeated because a gateway answered that it cannot reach the daemon.
    private static let gatewayPauses = [Duration.milliseconds(100), .milliseconds(400)]

    private static func drive(
        _ exchange: Exchange, _ buffer: UnsafeMutableRawBufferPointer, until deadline: ContinuousClock.Instant
    ) -> Result<Reply, SettingsError> {
        var (isDeadlineReached, pauses) = (false, gatewayPauses[...])
        while true {
            switch exchange.advance(buffer) {
            case .finished(let result):
                guard exchange.mayRepeat(after: result), let pause = pauses.popFirst(), .now + pause < deadline
                else {
                    return result
                }
                _ = wait(Exchange.Wait(until: .now + pause), until: deadline)
                exchange.restart()
            case .readingToken(let file):
                switch file.content(by: deadline) {
                case .success(let text): exchange.serializeRequest(token: text)
                case .failure(let error): return .failure(SettingsError(error))
                }
            case .lookingUp(let host):
                switch host.lookUp() {
                case .success(let addresses): exchange.connect(to: addresses)
                case .failure(let failure):
                    return .failure(.unreachable(failure.description, outcome: exchange.outcome))
                }
                // The resolver has no deadline.
                guard ContinuousClock.now < deadline else { return .failure(.timeout(outcome: exchange.outcome)) }
            case .waiting(let wait):
                // At the deadline, the exchange reads the bytes that have arrived, but only once, because a server may
                // send without end.
                guard !isDeadlineReached, Self.wait(wait, until: deadline) else {
                    return .failure(.timeout(outcome: exchange.outcome))
                }
                isDeadlineReached = ContinuousClock.now >= deadline
            }
        }
    }

    /// Waits for the event or the moment of `wait`. Returns false if the deadline has passed first.
    private static func wait(_ wait: Exchange.Wait, until deadline: ContinuousClock.Instant) -> Bool {
        let limit = min(deadline, wait.until ?? deadline)
        while true {
            if PollSet.wait(for: wait.events, on: wait.descriptor, until: limit) { return true }
            // No event: the limit has passed, or a signal has interrupted the wait.
            let now = ContinuousClock.now
            if now >= deadline { return false }
            if now >= limit { return true }
        }
    }
}
