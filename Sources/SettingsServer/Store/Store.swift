package import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// The truth in memory: what readers see, and the way in for writes.
///
/// Readers get the state as it was last published; whatever they hold of it stays as it is. Only what is as durable as
/// was promised is ever published.
package final class Store: Sendable {
    /// What is published. Held only to copy a reference to it or to put another in its place.
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

    /// The state as it stands.
    package var state: State { published.state }

    /// Looks something up. The body runs under the lock that publishes: it must be short and call nobody.
    package func read<Result>(_ body: (borrowing State) -> Result) -> Result {
        published.read(body)
    }

    /// Hands writes over. They are decided in this order; `replies` hears of each exactly once.
    ///
    /// - Returns: how many of them were taken, from the first; the others found the queue full and are not done.
    package func submit(_ writes: [PendingWrite], replies: any WriteReplies) -> Int {
        writer.submit(writes, replies: replies)
    }

    /// Runs once everything handed over so far is decided and answered, with the state that is then published.
    package func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        writer.whenIdle(body)
    }

    /// Adds somebody who wants to hear of publications whenever they have asked for it with ``watch(_:)``.
    package func addListener(_ listener: any PublicationListener) -> ListenerID {
        published.addListener(listener)
    }

    /// Lets go of a listener.
    package func removeListener(_ id: ListenerID) {
        published.removeListener(id)
    }

    /// The state as it stands; the listener hears of the next publication, once. Nothing is published in between, so who
    /// looks at this state and then waits misses nothing.
    package func watch(_ id: ListenerID) -> State {
        published.watch(id)
    }

    /// Has the log see to itself, on the writer's queue. To be called now and then.
    package func tend() {
        writer.tend()
    }
}

/// A write on its way to the writer.
package struct PendingWrite: Sendable {
    /// What the caller tells its answer by.
    package var id: UInt64
    /// The write.
    package var request: WriteRequest

    package init(id: UInt64, request: WriteRequest) {
        self.id = id
        self.request = request
    }
}

/// The end of a write: an answer or the reason why there is none.
package struct WriteOutcome: Sendable {
    /// What the caller told the write by.
    package var id: UInt64
    /// The answer, or why not.
    package var result: Result<WriteAnswer, Problem>
    /// The place in history that a refusal was decided at.
    package var cursor: Cursor
}

/// Who hears of the ends of writes.
package protocol WriteReplies: AnyObject, Sendable {
    /// The ends of writes in the order in which they were handed over. Called on the writer's queue; must not block.
    func deliver(_ outcomes: [WriteOutcome])
}

/// What writes may do, and how much of them may wait for the writer.
package struct WriteLimits: Sendable {
    /// The bytes of requests that may wait, before others are refused as too much.
    package var waitingBytes = 64 << 20
    /// The writes that one sync covers at most.
    package var batchCount = 4096
    /// The bytes of requests that one sync covers at most, save that there is always one.
    package var batchBytes = 8 << 20
    /// Whether a write that stores something brings its suite into being; else only a schema does.
    package var opensSuites = true

    package init() {}
}
