package import HTTPWire
internal import Platform
internal import SettingsModel
internal import Synchronization

/// A thread that waits for the answers to the long polls and to the requests of all tasks of the process.
///
/// The thread starts with the first request. It ends when there was no request for a while. Thread-safe.
package final class AnswerReader: Sendable {
    package typealias Completion = @Sendable (Result<Reply, SettingsError>) -> Void

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
        /// The moment at which the request is sent. Nil to send it immediately.
        var start: ContinuousClock.Instant?
        var deadline: ContinuousClock.Instant
    }

    /// Sends a request. Returns the number that identifies the request in ``cancel(_:)`` and ``sendNow(_:)``.
    ///
    /// - Parameter completion: called once, on the thread of the reader, or on the calling thread if the system cannot
    ///   create a thread. It must return soon and must not wait.
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

    /// Sends a request immediately that was scheduled for a later moment.
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
                // Without a thread there are no requests, so all commands other than `start` have no effect.
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
            // Other callers may have posted requests meanwhile.
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

    /// Marks the thread as ended and returns true, unless there are new commands.
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
                    proceed(id, exchange.advance(buffer), &waiting)
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
            if span.start == nil { proceed(id, exchange.advance(buffer), &waiting) }
        case .sendNow(let id):
            if let exchange = waiting.begin(id) { proceed(id, exchange.advance(buffer), &waiting) }
        case .cancel(let id):
            waiting.complete(id) { .failure(.cancelled(outcome: $0.outcome)) }
        case .tokenRead(let id, let content):
            guard let exchange = waiting.exchange(id) else { return }
            switch content {
            case .success(let text):
                exchange.sign(with: text)
                proceed(id, exchange.advance(buffer), &waiting)
            case .failure(let error): waiting.complete(id) { _ in .failure(SettingsError(error)) }
            }
        case .addressesFound(let id, let result):
            guard let exchange = waiting.exchange(id) else { return }
            switch result {
            case .success(let addresses):
                exchange.connect(to: addresses)
                proceed(id, exchange.advance(buffer), &waiting)
            case .failure(let failure):
                waiting.complete(id) { .failure(.unreachable(failure.description, outcome: $0.outcome)) }
            }
        }
    }

    private func proceed(_ id: UInt64, _ progress: Exchange.Progress, _ waiting: inout WaitingExchanges) {
        switch progress {
        case .waiting(let wait): waiting.setWait(id, wait)
        case .finished(let result): waiting.complete(id) { _ in result }
        case .readingToken(let file):
            waiting.setWait(id, Exchange.Wait())
            // Another thread reads the file, because all exchanges of this thread would wait if the file system did not
            // answer.
            let pending = file.read { [weak self] content in try? self?.post(.tokenRead(id, content)) }
            waiting.exchange(id)?.pendingRead = pending
        case .lookingUp(let host):
            waiting.setWait(id, Exchange.Wait())
            // Another thread calls the resolver, because all exchanges of this thread would wait for the network.
            host.lookUp { [weak self] result in try? self?.post(.addressesFound(id, result)) }
        }
    }
}

/// A request whose answer the answer reader thread awaits, so that no other thread is blocked. Most requests of this
/// type are long polls; the async functions of clients also use it.
///
/// A request can be started once. Only `cancel` ends the request early; the release of the object does not.
package final class LongPoll: Sendable {
    private enum Phase {
        case notStarted(sendsNow: Bool)
        case started(UInt64)
        case cancelled
    }

    private let request: Request
    private let pool: ConnectionPool
    private let span: AnswerReader.TimeSpan
    private let reader: AnswerReader
    private let phase = Mutex(Phase.notStarted(sendsNow: false))

    /// - Parameters:
    ///   - start: the moment at which the request is sent. Nil to send it when ``start(_:)`` is called.
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
    /// - Parameter completion: called once with the answer or the error, on the thread of the reader. It must return
    ///   soon and must not wait.
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

    /// Sends the request immediately if it was scheduled for a later moment.
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
