internal import SettingsModel
internal import Synchronization

/// One request whose answer is waited for without a thread, however long it takes.
///
/// It is to be started once. Letting go of it does not end it: `cancel` does.
final class LongPoll: Sendable {
    private enum Phase {
        case fresh
        case started(UInt64)
        case cancelled
    }

    private let request: WireRequest
    private let pool: ConnectionPool
    private let deadline: ContinuousClock.Instant
    private let reader: AnswerReader
    private let phase = Mutex(Phase.fresh)

    init(
        _ request: WireRequest, _ pool: ConnectionPool, by deadline: ContinuousClock.Instant,
        reader: AnswerReader = .shared
    ) {
        self.request = request
        self.pool = pool
        self.deadline = deadline
        self.reader = reader
    }

    /// Sends the request. The completion is called once, with the whole answer or with why there is none, on the thread
    /// that reads for everybody: it must be short and may not wait.
    func start(_ completion: @escaping AnswerReader.Completion) {
        let isCancelled = phase.withLock { if case .cancelled = $0 { true } else { false } }
        guard !isCancelled else { return completion(.failure(.cancelled(outcome: .notDone))) }
        let id = reader.start(request, pool, by: deadline, completion: completion)
        let wasCancelled = phase.withLock { phase in
            if case .cancelled = phase { return true }
            phase = .started(id)
            return false
        }
        if wasCancelled { reader.cancel(id) }
    }

    /// Closes the connection of the request and has the completion told so, unless it has been called.
    func cancel() {
        let id = phase.withLock { phase -> UInt64? in
            defer { phase = .cancelled }
            if case .started(let id) = phase { return id }
            return nil
        }
        if let id { reader.cancel(id) }
    }
}
