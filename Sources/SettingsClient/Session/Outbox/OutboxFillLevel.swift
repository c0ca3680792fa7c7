internal import Synchronization

extension OutboxStore {
    /// The limits of the queue. A session refuses writes beyond them.
    struct Limits: Equatable, Sendable {
        var writes = 100_000
        /// The bytes of the lines that store the queued writes in the outbox file.
        var size = 64 << 20
    }
}

/// The number and the size of the writes in a queue, with the limits of the queue. Thread-safe.
final class OutboxFillLevel: Sendable {
    private let limits: OutboxStore.Limits
    private let level = Mutex((writes: 0, size: 0))

    init(_ limits: OutboxStore.Limits) {
        self.limits = limits
    }

    func set(writes: Int, size: Int) {
        level.withLock { $0 = (writes, size) }
    }

    /// The message for a write that the full queue refuses. Nil if the queue has room.
    var fullQueueMessage: String? {
        let (writes, size) = level.withLock { $0 }
        guard writes >= limits.writes || size >= limits.size else { return nil }
        return
            "cannot add a write to the queue: \(writes) writes (\(size) bytes) already wait for the daemon; retry when "
            + "the daemon has answered some of them"
    }
}
