package import HTTPWire
internal import Platform
internal import SettingsModel
internal import Synchronization

/// Sends the requests that must not block a thread of the program: long polls, and the requests of async functions. One
/// thread waits for all answers.
///
/// The thread starts with the first request. It ends after a time without requests. Thread-safe.
package final class AnswerReader: Sendable {
    package typealias Completion = @Sendable (Result<Reply, SettingsError>) -> Void

    /// A command to the thread. The number identifies the request.
    private enum Command: Sendable {
        case start(UInt64, Request, ConnectionPool, TimeSpan, Completion)
        case sendNow(UInt64)
        case cancel(UInt64)
        case tokenRead(UInt64, AccessTokenFile.Content)
        case addressesFound(UInt64, HostAddresses.LookUpResult)
    }

    private struct Mailbox {
        var commands: [Command] = []
        /// Wakes the thread; nil if there is no thread.
        var waker: Waker?
        /// True if the thread was woken and has not taken the commands yet. Further commands then need no wake.
        var isWoken = false
    }

    package static let shared = AnswerReader()

    private let idleLimit: Duration
    private let mailbox = Mutex(Mailbox())
    private let lastID = Atomic<UInt64>(0)

    /// - Parameter idleLimit: the time without a request after which the thread ends.
    init(idleLimit: Duration = .seconds(1)) {
        self.idleLimit = idleLimit
    }

    package var isRunning: Bool { mailbox.withLock { $0.waker != nil } }

    /// The start and the deadline of a request.
    struct TimeSpan: Sendable {
        /// The moment at which the request is sent. Nil to send the request immediately.
        var start: ContinuousClock.Instant?
        var deadline: ContinuousClock.Instant
    }

    /// Sends a request. Returns the number that identifies the request in ``cancel(_:)`` and ``sendNow(_:)``.
    ///
    /// - Parameter completion: called once, on the thread of the reader. If the system cannot create this thread,
    ///   called on a thread that calls this method. The completion must return soon and must not wait.
    func start(
        _ request: Request, _ pool: ConnectionPool, _ span: TimeSpan, completion: @escaping Completion
    ) -> UInt64 {
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        do throws(SystemError) {
            try post(.start(id, request, pool, span, completion))
        } catch {
            completion(.failure(.unreachable(SystemError.text(error.code), outcome: .notDone)))
        }
        return id
    }

    /// Sends a request immediately although its start is later.
    func sendNow(_ id: UInt64) {
        try? post(.sendNow(id))
    }

    /// Closes the connection of a request and calls its completion, unless the completion was called before.
    func cancel(_ id: UInt64) {
        try? post(.cancel(id))
    }

    /// Passes a command to the thread. Starts the thread if there is none.
    private func post(_ command: Command) throws(SystemError) {
        let newWaker = try mailbox.withLock { mailbox throws(SystemError) -> Waker? in
            var newWaker: Waker?
            if mailbox.waker == nil {
                // Without a thread there are no requests, so other commands than `start` have no effect.
                guard case .start = command else { return nil }
                newWaker = try Waker()
                mailbox.waker = newWaker
                mailbox.isWoken = false
            }
            mailbox.commands.append(command)
            if !mailbox.isWoken {
                mailbox.isWoken = true
                mailbox.waker?.wake()
            }
            return newWaker
        }
        guard let newWaker else { return }
        do throws(SystemError) {
            try DetachedThread.start { self.run(newWaker) }
        } catch {
            // While the lock was not held, other callers may have posted commands for the thread.
            let commands = mailbox.withLock { mailbox in
                mailbox.waker = nil
                defer { mailbox.commands = [] }
                return mailbox.commands
            }
            for case .start(_, _, _, _, let completion) in commands {
                completion(.failure(.unreachable(SystemError.text(error.code), outcome: .notDone)))
            }
        }
    }

    private func removeCommands() -> [Command] {
        mailbox.withLock { mailbox in
            if mailbox.isWoken {
                mailbox.isWoken = false
                mailbox.waker?.reset()
            }
            defer { mailbox.commands = [] }
            return mailbox.commands
        }
    }

    /// Returns true if the thread must end because there are no new commands. The next request then starts another
    /// thread.
    private func endIfIdle() -> Bool {
        mailbox.withLock { mailbox in
            guard mailbox.commands.isEmpty else { return false }
            mailbox.waker = nil
            return true
        }
    }
}

// The methods of this extension run on the answer reader thread.
extension AnswerReader {
    private func run(_ waker: Waker) {
        withUnsafeTemporaryAllocation(byteCount: Exchange.bufferSize, alignment: 16) { buffer in
            var waiting = WaitingExchanges()
            var idleUntil = ContinuousClock.now + idleLimit
            while true {
                for command in removeCommands() { handle(command, &waiting, buffer) }
                if !waiting.isEmpty { idleUntil = .now + idleLimit }
                waiting.wait(beside: waker.descriptor, until: waiting.nextMoment ?? idleUntil) {
                    waiting, id, exchange in
                    handleProgress(id, exchange.advance(buffer), &waiting)
                }
                if waiting.isEmpty, ContinuousClock.now >= idleUntil, endIfIdle() { return }
            }
        }
    }

    private func handle(
        _ command: Command, _ waiting: inout WaitingExchanges, _ buffer: UnsafeMutableRawBufferPointer
    ) {
        switch command {
        case .start(let id, let request, let pool, let span, let completion):
            let exchange = Exchange(request, pool)
            waiting.add(id, exchange, span, completion)
            if span.start == nil { handleProgress(id, exchange.advance(buffer), &waiting) }
        case .sendNow(let id):
            if let exchange = waiting.removeStart(of: id) { handleProgress(id, exchange.advance(buffer), &waiting) }
        case .cancel(let id):
            waiting.complete(id) { .failure(.cancelled(outcome: $0.outcome)) }
        case .tokenRead(let id, let content):
            guard let exchange = waiting.exchange(id) else { return }
            switch content {
            case .success(let text):
                exchange.serializeRequest(token: text)
                handleProgress(id, exchange.advance(buffer), &waiting)
            case .failure(let error): waiting.complete(id) { _ in .failure(SettingsError(error)) }
            }
        case .addressesFound(let id, let result):
            guard let exchange = waiting.exchange(id) else { return }
            switch result {
            case .success(let addresses):
                exchange.connect(to: addresses)
                handleProgress(id, exchange.advance(buffer), &waiting)
            case .failure(let failure):
                waiting.complete(id) { .failure(.unreachable(failure.description, outcome: $0.outcome)) }
            }
        }
    }

    private func handleProgress(_ id: UInt64, _ progress: Exchange.Progress, _ waiting: inout WaitingExchanges) {
        switch progress {
        case .waiting(let wait): waiting.setWait(id, wait)
        case .finished(let result): waiting.complete(id) { _ in result }
        case .readingToken(let file):
            waiting.setWait(id, Exchange.Wait())  // waits for no descriptor
            // Another thread reads the file. Otherwise, all exchanges would wait if the file system did not answer.
            let pending = file.read { [weak self] content in try? self?.post(.tokenRead(id, content)) }
            waiting.exchange(id)?.pendingRead = pending
        case .lookingUp(let host):
            waiting.setWait(id, Exchange.Wait())  // waits for no descriptor
            // Another thread calls the resolver. Otherwise, all exchanges would wait for the name server.
            host.lookUp { [weak self] result in try? self?.post(.addressesFound(id, result)) }
        }
    }
}

/// A request that an ``AnswerReader`` sends, so that the request blocks no thread of the program: a long poll, or a
/// request of an async function.
///
/// A request can be started once. Only `cancel` ends the request early; the release of the object does not.
package final class AsyncRequest: Sendable {
    private enum Phase {
        /// `sendsNow` is true if ``AsyncRequest/sendNow()`` was called before the start.
        case notStarted(sendsNow: Bool)
        /// The associated value is the number that the reader has returned for the request.
        case started(UInt64)
        case cancelled
    }

    private let request: Request
    private let pool: ConnectionPool
    private let span: AnswerReader.TimeSpan
    private let reader: AnswerReader
    private let phase = Mutex(Phase.notStarted(sendsNow: false))

    /// - Parameters:
    ///   - start: the moment at which the request is sent. Nil to send the request when ``start(_:)`` is called.
    ///   - deadline: the moment at which the request fails if there is no answer.
    package init(
        _ request: Request, _ pool: ConnectionPool, from start: ContinuousClock.Instant? = nil,
        by deadline: ContinuousClock.Instant, reader: AnswerReader = .shared
    ) {
        self.request = request
        self.pool = pool
        span = AnswerReader.TimeSpan(start: start, deadline: deadline)
        self.reader = reader
    }

    /// Sends the request.
    ///
    /// - Parameter completion: called once with the answer or the error. Usually called on the thread of the reader. If
    ///   the request was cancelled before, or if the reader cannot create its thread, called on another thread, which
    ///   may be the calling thread. The completion must return soon and must not wait.
    package func start(_ completion: @escaping AnswerReader.Completion) {
        let isCancelled = phase.withLock { if case .cancelled = $0 { true } else { false } }
        guard !isCancelled else { return completion(.failure(.cancelled(outcome: .notDone))) }
        let id = reader.start(request, pool, span, completion: completion)
        let before = phase.withLock { phase in
            defer { if case .notStarted = phase { phase = .started(id) } }
            return phase
        }
        switch before {
        case .notStarted(sendsNow: false), .started: break
        case .notStarted(sendsNow: true): reader.sendNow(id)
        case .cancelled: reader.cancel(id)
        }
    }

    /// Sends the request immediately although its start is later.
    package func sendNow() {
        let id = phase.withLock { phase -> UInt64? in
            if case .notStarted = phase { phase = .notStarted(sendsNow: true) }
            if case .started(let id) = phase { return id }
            return nil
        }
        if let id { reader.sendNow(id) }
    }

    /// Closes the connection of the request and calls the completion with `cancelled`, unless the completion was called
    /// before.
    package func cancel() {
        let id = phase.withLock { phase -> UInt64? in
            defer { phase = .cancelled }
            if case .started(let id) = phase { return id }
            return nil
        }
        if let id { reader.cancel(id) }
    }
}
