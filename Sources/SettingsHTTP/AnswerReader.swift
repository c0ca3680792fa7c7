internal import Glibc
internal import HTTPWire
internal import Platform
internal import SettingsModel
internal import Synchronization

/// A thread that waits for the answers of long polls and of requests of tasks: one for the whole process.
///
/// The thread starts with the first request and ends when there has been none for a while.
package final class AnswerReader: Sendable {
    package typealias Completion = @Sendable (Result<Reply, SettingsError>) -> Void

    private enum Command: Sendable {
        case start(UInt64, Request, ConnectionPool, TimeSpan, Completion)
        case hurry(UInt64)
        case cancel(UInt64)
        case found(UInt64, HostAddresses.Found)
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

    /// Makes a reader whose thread stays so long without anything to do.
    init(idleLimit: Duration = .seconds(1)) {
        self.idleLimit = idleLimit
    }

    package var isRunning: Bool { mailbox.withLock { $0.waker != nil } }

    /// When a request goes out, nil for at once, and its deadline.
    struct TimeSpan: Sendable {
        var start: ContinuousClock.Instant?
        var deadline: ContinuousClock.Instant
    }

    /// Sends a request. Calls the completion once, on the thread of the reader, where it must be short and may not wait; at
    /// once on the calling thread if the system has no thread. Returns the number to cancel it by.
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

    /// Sends a request now that was to go out later.
    func hurry(_ id: UInt64) {
        try? post(.hurry(id))
    }

    /// Ends a request: closes its connection and calls its completion, unless that was called already.
    func cancel(_ id: UInt64) {
        try? post(.cancel(id))
    }

    private func post(_ command: Command) throws(SystemError) {
        let newWaker = try mailbox.withLock { mailbox throws(SystemError) -> Waker? in
            var newWaker: Waker?
            if mailbox.waker == nil {
                // Without a thread there is no request that any other command could be about.
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

    private func takeCommands() -> [Command] {
        mailbox.withLock { mailbox in
            if mailbox.isWoken {
                mailbox.isWoken = false
                mailbox.waker?.reset()
            }
            defer { mailbox.commands = [] }
            return mailbox.commands
        }
    }

    /// True if the thread ends: no command has come meanwhile.
    private func mayEnd() -> Bool {
        mailbox.withLock { mailbox in
            guard mailbox.commands.isEmpty else { return false }
            mailbox.waker = nil
            return true
        }
    }
}

// MARK: On the thread

extension AnswerReader {
    private func run(_ waker: Waker) {
        withUnsafeTemporaryAllocation(byteCount: Exchange.bufferSize, alignment: 16) { buffer in
            var waiting = WaitingExchanges()
            var idleUntil = ContinuousClock.now + idleLimit
            while true {
                for command in takeCommands() { handle(command, &waiting, buffer) }
                if !waiting.isEmpty { idleUntil = .now + idleLimit }
                waiting.wait(beside: waker.descriptor, until: waiting.nextMoment ?? idleUntil) {
                    waiting, id, exchange in
                    proceed(id, exchange.advance(buffer), &waiting)
                }
                if waiting.isEmpty, ContinuousClock.now >= idleUntil, mayEnd() { return }
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
        case .hurry(let id):
            if let exchange = waiting.begin(id) { proceed(id, exchange.advance(buffer), &waiting) }
        case .cancel(let id):
            waiting.finish(id) { .failure(.cancelled(outcome: $0.outcome)) }
        case .found(let id, let result):
            guard let exchange = waiting.exchange(id) else { return }
            switch result {
            case .success(let addresses):
                exchange.found(addresses)
                proceed(id, exchange.advance(buffer), &waiting)
            case .failure(let failure):
                waiting.finish(id) { .failure(.unreachable(failure.description, outcome: $0.outcome)) }
            }
        }
    }

    private func proceed(_ id: UInt64, _ progress: Exchange.Progress, _ waiting: inout WaitingExchanges) {
        switch progress {
        case .waiting(let wait): waiting.setWait(id, wait)
        case .finished(let result): waiting.finish(id) { _ in result }
        case .lookingUp(let host):
            waiting.setWait(id, Exchange.Wait())
            // The resolver waits for the network, and all other exchanges would wait with it.
            host.lookUp { [weak self] result in try? self?.post(.found(id, result)) }
        }
    }
}

/// The exchanges that one thread drives, each with what it waits for.
struct WaitingExchanges {
    private struct Entry {
        let exchange: Exchange
        /// When it goes out; nil if it has.
        var start: ContinuousClock.Instant?
        let deadline: ContinuousClock.Instant
        let completion: AnswerReader.Completion
        var wait = Exchange.Wait()

        /// When the exchange has to be looked at, whatever comes.
        var nextMoment: ContinuousClock.Instant {
            min(start ?? deadline, wait.until ?? deadline, deadline)
        }
    }

    private var entries: [UInt64: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// The first moment at which one of them has to be looked at.
    var nextMoment: ContinuousClock.Instant? { entries.values.lazy.map(\.nextMoment).min() }

    func exchange(_ id: UInt64) -> Exchange? {
        entries[id]?.exchange
    }

    mutating func add(
        _ id: UInt64, _ exchange: Exchange, _ span: AnswerReader.TimeSpan,
        _ completion: @escaping AnswerReader.Completion
    ) {
        entries[id] = Entry(exchange: exchange, start: span.start, deadline: span.deadline, completion: completion)
    }

    /// Returns the exchange that is to go out now; nil if it has gone out.
    mutating func begin(_ id: UInt64) -> Exchange? {
        guard entries[id]?.start != nil else { return nil }
        entries[id]?.start = nil
        return entries[id]?.exchange
    }

    mutating func setWait(_ id: UInt64, _ wait: Exchange.Wait) {
        entries[id]?.wait = wait
    }

    /// Ends an exchange that is still there. Closes its connection, unless the pool has it, then calls its completion.
    mutating func finish(_ id: UInt64, _ result: (Exchange) -> Result<Reply, SettingsError>) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        let result = result(entry.exchange)
        entry.exchange.close()
        entry.completion(result)
    }

    /// Waits until something happens or the time is over, and calls the body with each exchange that can go on or begin.
    /// Ends those whose deadline has come.
    mutating func wait(
        beside waker: Int32, until time: ContinuousClock.Instant,
        _ body: (inout WaitingExchanges, UInt64, Exchange) -> Void
    ) {
        var ready = PollSet()
        ready.add(waker, .readable)
        var ids: [UInt64] = []
        // The kernel takes no more entries than a program may have descriptors, so those without one are left out.
        for (id, entry) in entries where entry.wait.descriptor >= 0 {
            ready.add(entry.wait.descriptor, entry.wait.events)
            ids.append(id)
        }
        if ready.wait(until: time) {
            for (index, id) in ids.enumerated() where ready.isReady(index + 1) {
                if let exchange = entries[id]?.exchange { body(&self, id, exchange) }
            }
        }
        let now = ContinuousClock.now
        for id in entries.compactMap({ $1.nextMoment <= now ? $0 : nil }) {
            guard let entry = entries[id] else { continue }
            if entry.deadline <= now {
                finish(id) { .failure(.late(outcome: $0.outcome)) }
            } else if begin(id) != nil || entry.start == nil {
                body(&self, id, entry.exchange)
            }
        }
    }
}

/// Starts threads that are not joined.
private enum DetachedThread {
    private struct Pending {
        var lastID = 0
        var bodies: [Int: @Sendable () -> Void] = [:]
    }

    /// The bodies of threads that were made and do not run yet. Each thread takes one of them.
    private static let pending = Mutex(Pending())

    /// Starts a thread. Throws if the system has none.
    static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let id = pending.withLock { pending in
            pending.lastID += 1
            pending.bodies[pending.lastID] = body
            return pending.lastID
        }
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { _ in
                DetachedThread.takeBody()?()
                return nil
            }, nil)
        guard code == 0 else {
            pending.withLock { _ = $0.bodies.removeValue(forKey: id) }
            throw SystemError(call: "pthread_create", code: code)
        }
        _ = pthread_detach(thread)
    }

    private static func takeBody() -> (@Sendable () -> Void)? {
        pending.withLock { $0.bodies.popFirst()?.value }
    }
}
