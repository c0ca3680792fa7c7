package import HTTPWire
internal import SettingsModel
internal import Synchronization

/// A request whose answer is waited for without a thread, however long it takes.
///
/// Started once. Letting go of it does not end it: `cancel` does.
package final class LongPoll: Sendable {
    private enum Phase {
        case fresh(isHurried: Bool)
        case started(UInt64)
        case cancelled
    }

    private let request: Request
    private let pool: ConnectionPool
    private let span: AnswerReader.TimeSpan
    private let reader: AnswerReader
    private let phase = Mutex(Phase.fresh(isHurried: false))

    /// `start` is when the request goes out; nil for as soon as it is started.
    package init(
        _ request: Request, _ pool: ConnectionPool, from start: ContinuousClock.Instant? = nil,
        by deadline: ContinuousClock.Instant, reader: AnswerReader = .shared
    ) {
        self.request = request
        self.pool = pool
        span = AnswerReader.TimeSpan(start: start, deadline: deadline)
        self.reader = reader
    }

    /// Sends the request. Calls the completion once with the answer or the error, on the thread of the reader, where it must
    /// be short and may not wait.
    package func start(_ completion: @escaping AnswerReader.Completion) {
        let isCancelled = phase.withLock { if case .cancelled = $0 { true } else { false } }
        guard !isCancelled else { return completion(.failure(.cancelled(outcome: .notDone))) }
        let id = reader.start(request, pool, span, completion: completion)
        let before = phase.withLock { phase in
            defer { if case .fresh = phase { phase = .started(id) } }
            return phase
        }
        switch before {
        case .fresh(isHurried: false), .started: break
        case .fresh(isHurried: true): reader.hurry(id)
        case .cancelled: reader.cancel(id)
        }
    }

    /// Sends the request now if it was to go out later.
    package func hurry() {
        let id = phase.withLock { phase -> UInt64? in
            if case .fresh = phase { phase = .fresh(isHurried: true) }
            if case .started(let id) = phase { return id }
            return nil
        }
        if let id { reader.hurry(id) }
    }

    /// Closes the connection of the request and calls the completion with `cancelled`, unless it has been called.
    package func cancel() {
        let id = phase.withLock { phase -> UInt64? in
            defer { phase = .cancelled }
            if case .started(let id) = phase { return id }
            return nil
        }
        if let id { reader.cancel(id) }
    }
}
