// The target SettingsStorage keeps the settings. The store publishes a state to readers. The write pipeline decides
// each write, makes its commit durable in a log, and publishes the new state. Persistence/ contains the log in a data directory:
// journals, snapshots, recovery, past files, check, repair and backup.
//
// The target does not know HTTP, access control, or the protocol of a log that several daemons share.
//
// Read this file first, then WritePipeline.swift, CommitLog.swift and Persistence/LocalLog.swift.

package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// A store that gives readers the published state and takes writes.
///
/// The published state is as durable as was promised. Thread-safe.
package final class Store: Sendable {
    private let published: Published
    private let pipeline: WritePipeline
    private let monotonic: MonotonicClock
    package let figures = WriteFigures()

    /// A store over a recovered state.
    ///
    /// - Parameters:
    ///   - log: where commits become durable.
    ///   - monotonic: the clock for timeouts.
    ///   - clock: the time of day.
    package init(
        _ state: State, log: any CommitLog, limits: WriteLimits = WriteLimits(), monotonic: MonotonicClock = .system,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        published = Published(state)
        self.monotonic = monotonic
        pipeline = WritePipeline(
            state, published: published, log: log, limits: limits, figures: figures, monotonic: monotonic, clock: clock)
    }

    /// The published state.
    package var state: State { published.state }

    /// Looks something up under the lock that publishes. The body must be short and call out to nothing.
    package func read<Result>(_ body: (borrowing State) -> Result) -> Result {
        published.read(body)
    }

    /// Makes a write that arrives now.
    ///
    /// - Parameters:
    ///   - id: identifies the write to the receiver.
    ///   - caller: the caller in whose name the write waits; nil for the common place of all writes without a caller.
    ///   - estimatedTime: the nanoseconds that the decision is estimated to take.
    package func makeWrite(
        _ id: WriteID, _ request: consuming WriteRequest, for receiver: any WriteReceiver, caller: ClientKey? = nil,
        estimatedTime: UInt64 = PendingWrite.leastTime
    ) -> PendingWrite {
        PendingWrite(
            id: id, request: request, receiver: receiver, caller: caller, estimatedTime: estimatedTime,
            arrival: monotonic.now())
    }

    /// Queues writes. Writes of one connection are decided in their order, unless one of them is costly.
    ///
    /// - Returns: the results of the writes for which the queue has no room. The receivers get the results of all other writes.
    package func enqueue(_ writes: [PendingWrite]) -> [WriteResult] {
        guard !writes.isEmpty else { return [] }
        let refused = pipeline.enqueue(writes)
        guard !refused.isEmpty else { return [] }
        let cursor = published.read { $0.cursor }
        return refused.map { .refusal(of: $0.id, because: .tooManyWrites, at: cursor) }
    }

    /// Makes and queues one write, and returns its result if the queue has no room.
    package func enqueue(
        _ id: WriteID, _ request: WriteRequest, for receiver: any WriteReceiver
    ) -> WriteResult? {
        enqueue([makeWrite(id, request, for: receiver)]).first
    }

    /// The limits of the writes that are decided from now on.
    package var limits: WriteLimits {
        get { pipeline.limits }
        set { pipeline.limits = newValue }
    }

    /// True if the queued writes take longer than some slices, so that connections should send one write at a time.
    package var isBusy: Bool { pipeline.isBusy }

    /// Refuses costly writes from now on, including those in the queue.
    package func stopping() {
        pipeline.stopping()
    }

    /// Calls the body with the published state once no write is queued or on its way.
    package func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        pipeline.whenIdle(body)
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

    /// Calls the body after the decide stage of the write path has ended its present slice, however many writes are queued.
    package func passThroughDecideStage(_ body: @escaping @Sendable () -> Void) {
        pipeline.passThroughDecideStage(body)
    }

    /// Calls the body after the commit stage of the write path has ended its present batch.
    package func passThroughCommitStage(_ body: @escaping @Sendable () -> Void) {
        pipeline.passThroughCommitStage(body)
    }

    /// Has the log perform its periodic maintenance, on the commit thread.
    package func tend() {
        pipeline.tend()
    }
}
