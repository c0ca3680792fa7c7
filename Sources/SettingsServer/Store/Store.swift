package import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A store that gives readers the published state and hands writes to the writer.
///
/// Only what is as durable as was promised is published.
package final class Store: Sendable {
    private let published: Published
    private let writer: Writer

    /// A store over a recovered state.
    ///
    /// - Parameters:
    ///   - log: where commits become durable; called on the writer's queue only.
    ///   - clock: the time of day.
    package init(
        _ state: State, log: any CommitLog, limits: WriteLimits = WriteLimits(),
        clock: @escaping @Sendable () -> Timestamp
    ) {
        published = Published(state)
        writer = Writer(state, published: published, log: log, limits: limits, clock: clock)
    }

    /// The published state.
    package var state: State { published.state }

    /// Looks something up under the lock that publishes. The body must be short and call out to nothing.
    package func read<Result>(_ body: (borrowing State) -> Result) -> Result {
        published.read(body)
    }

    /// Queues writes, to be decided in this order. `replies` gets the outcome of each exactly once.
    ///
    /// - Returns: the number of writes that were taken, from the first; for the others the queue was full.
    package func submit(_ writes: [PendingWrite], replies: any WriteReplies) -> Int {
        writer.submit(writes, replies: replies)
    }

    /// Calls the body with the published state once everything queued so far is answered.
    package func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        writer.whenIdle(body)
    }

    /// Adds a listener, which ``watch(_:)`` subscribes to one publication at a time.
    package func addListener(_ listener: any PublicationListener) -> ListenerID {
        published.addListener(listener)
    }

    package func removeListener(_ id: ListenerID) {
        published.removeListener(id)
    }

    /// Subscribes a listener to the next publication, once, and returns the state before it. Nothing is published in
    /// between, so the listener misses nothing.
    package func watch(_ id: ListenerID) -> State {
        published.watch(id)
    }

    /// Has the log perform its periodic maintenance, on the writer's queue.
    package func tend() {
        writer.tend()
    }
}

/// A write in the queue of the writer.
package struct PendingWrite: Sendable {
    /// The caller's name for the write.
    package var id: UInt64
    package var request: WriteRequest

    package init(id: UInt64, request: WriteRequest) {
        self.id = id
        self.request = request
    }
}

/// The outcome of a write: an answer or a problem.
package struct WriteOutcome: Sendable {
    /// The caller's name for the write.
    package var id: UInt64
    package var result: Result<WriteAnswer, Problem>
    /// The place in history that a refusal was decided at.
    package var cursor: Cursor
}

/// A receiver of the outcomes of writes.
package protocol WriteReplies: AnyObject, Sendable {
    /// Takes outcomes in the order in which the writes were queued. Runs on the writer's queue; must not block.
    func deliver(_ outcomes: [WriteOutcome])
}

/// The limits of the queue of writes.
package struct WriteLimits: Sendable {
    /// The bytes of requests that may wait. Others are refused.
    package var waitingBytes = 64 << 20
    /// The most writes that one sync covers.
    package var batchCount = 4096
    /// The most bytes of requests that one sync covers, except that it always covers one request.
    package var batchBytes = 8 << 20
    /// True if a write that stores something creates its suite; else only a schema does.
    package var opensSuites = true

    package init() {}
}
