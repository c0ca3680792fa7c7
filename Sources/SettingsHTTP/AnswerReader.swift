internal import Dispatch
internal import Glibc
internal import HTTPWire
internal import SettingsModel
internal import Synchronization

/// The one thread of the process that waits for answers on behalf of all who must not wait themselves: long-polls, which
/// take minutes, and requests of tasks.
///
/// The thread comes with the first request and goes when there has been none for a while.
package final class AnswerReader: Sendable {
    package typealias Completion = @Sendable (Result<Reply, SettingsError>) -> Void

    /// What the thread is told.
    private enum Command: Sendable {
        case start(UInt64, Request, ConnectionPool, TimeSpan, Completion)
        case hurry(UInt64)
        case cancel(UInt64)
        case found(UInt64, HostAddresses.Found)
    }

    private struct Mailbox {
        var commands: [Command] = []
        /// What wakes the thread when a byte is written to it; nil if there is no thread.
        var wake: WakePipe?
        var isWoken = false
    }

    package static let shared = AnswerReader()

    private let lingering: Duration
    private let mailbox = Mutex(Mailbox())
    private let lastID = Atomic<UInt64>(0)

    /// `lingering` is how long the thread stays without anything to do.
    init(lingering: Duration = .seconds(1)) {
        self.lingering = lingering
    }

    package var isRunning: Bool { mailbox.withLock { $0.wake != nil } }

    /// When a request goes out, nil for at once, and when it is over.
    struct TimeSpan: Sendable {
        var start: ContinuousClock.Instant?
        var deadline: ContinuousClock.Instant
    }

    /// Sends a request and calls the completion, once, on the thread of all readers: it must be short and may not wait.
    /// Where the system has no thread, it is called at once. Returns the name to cancel it by.
    func start(
        _ request: Request, _ pool: ConnectionPool, _ span: TimeSpan, completion: @escaping Completion
    ) -> UInt64 {
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        if let failure = post(.start(id, request, pool, span, completion)) {
            completion(.failure(.unreachable(failure, outcome: .notDone)))
        }
        return id
    }

    /// Sends a request now that was to go out later.
    func hurry(_ id: UInt64) {
        _ = post(.hurry(id))
    }

    /// Ends a request: its connection is closed and its completion called, unless that has been done already.
    func cancel(_ id: UInt64) {
        _ = post(.cancel(id))
    }

    /// Returns why there can be no thread, if there is none.
    private func post(_ command: Command) -> String? {
        mailbox.withLock { mailbox in
            if mailbox.wake == nil {
                // Without a thread there is no request that any other command could be about.
                guard case .start = command else { return nil }
                guard let pipe = WakePipe() else { return SystemText.of(errno) }
                let code = DetachedThread.start { self.run(pipe) }
                guard code == 0 else { return SystemText.of(code) }
                mailbox.wake = pipe
                mailbox.isWoken = false
            }
            mailbox.commands.append(command)
            if !mailbox.isWoken {
                mailbox.isWoken = true
                mailbox.wake?.wake()
            }
            return nil
        }
    }

    private func takeCommands() -> [Command] {
        mailbox.withLock { mailbox in
            if mailbox.isWoken {
                mailbox.isWoken = false
                mailbox.wake?.settle()
            }
            defer { mailbox.commands = [] }
            return mailbox.commands
        }
    }

    /// Whether the thread may go: nobody has told it anything meanwhile.
    private func mayEnd() -> Bool {
        mailbox.withLock { mailbox in
            guard mailbox.commands.isEmpty else { return false }
            mailbox.wake = nil
            return true
        }
    }
}

/// What happens on the thread.
extension AnswerReader {
    private func run(_ pipe: WakePipe) {
        withUnsafeTemporaryAllocation(byteCount: WireBuffer.size, alignment: 16) { buffer in
            var waiting = WaitingExchanges()
            var idleUntil = ContinuousClock.now + lingering
            while true {
                for command in takeCommands() { handle(command, &waiting, buffer) }
                if !waiting.isEmpty { idleUntil = .now + lingering }
                waiting.wait(beside: pipe.readEnd, until: waiting.nextMoment ?? idleUntil) { waiting, id, exchange in
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
                waiting.finish(id) { .failure(.unreachable(failure.reason, outcome: $0.outcome)) }
            }
        }
    }

    private func proceed(_ id: UInt64, _ progress: Exchange.Progress, _ waiting: inout WaitingExchanges) {
        switch progress {
        case .waiting(let wait): waiting.setWait(id, wait)
        case .finished(let result): waiting.finish(id) { _ in result }
        case .lookingUp(let host):
            waiting.setWait(id, Exchange.Wait())
            // The resolver waits for the network, and everybody else would wait with it.
            host.lookUp { [weak self] result in _ = self?.post(.found(id, result)) }
        }
    }
}
