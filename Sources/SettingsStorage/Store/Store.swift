// The target SettingsStorage keeps the settings. The store gives readers the published state. The write pipeline
// decides each write (checks it, and computes its commit or its refusal), makes the commit durable in the commit log,
// and publishes the new state. Persistence/ contains the log in a data directory: journals, snapshots, recovery, past
// files (files that keep commits longer than the history in memory), check, repair and backup.
//
// The target does not know HTTP, access control, or the protocol of a log that several daemons share.
//
// Read this file first, then WritePipeline.swift, CommitLog.swift and Persistence/LocalLog.swift.

package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// Gives readers the published state, and queues writes. A commit is published, which makes it visible to readers, only
/// after it has the configured durability. Thread-safe.
package final class Store: Sendable {
    private let published: Published
    private let pipeline: WritePipeline
    private let monotonic: MonotonicClock
    package let metrics = WriteMetrics()

    /// Makes a store that begins with a recovered state.
    ///
    /// - Parameters:
    ///   - monotonic: the clock for timeouts.
    ///   - clock: the wall clock, which gives commits their time.
    package init(
        _ state: State, log: any CommitLog, limits: WriteLimits = WriteLimits(), monotonic: MonotonicClock = .system,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        published = Published(state)
        self.monotonic = monotonic
        pipeline = WritePipeline(
            state, published: published, log: log, limits: limits, metrics: metrics, monotonic: monotonic, clock: clock)
    }

    package var state: State { published.state }

    /// Calls the body with the published state under a lock. The body must be short, and must not call the store.
    package func read<Result>(_ body: (borrowing State) -> Result) -> Result {
        published.read(body)
    }

    /// Makes a write that arrives now.
    ///
    /// - Parameters:
    ///   - id: identifies the write to the receiver.
    ///   - client: the client that sent the write. The queue serves clients in turn, and counts nil as one client.
    ///   - estimatedTime: the estimated nanoseconds for deciding the write.
    package func makeWrite(
        _ id: WriteID, _ request: consuming WriteRequest, for receiver: any WriteReceiver, client: ClientKey? = nil,
        estimatedTime: UInt64 = PendingWrite.minimumTime
    ) -> PendingWrite {
        PendingWrite(
            id: id, request: request, receiver: receiver, client: client, estimatedTime: estimatedTime,
            arrival: monotonic.now())
    }

    /// Queues writes. The pipeline decides the writes of a client in order, except that it may decide later writes
    /// before a costly write (see ``PendingWrite/isCostly``).
    ///
    /// - Returns: refusals of the writes for which the queue has no room. The receivers get the other results.
    package func enqueue(_ writes: [PendingWrite]) -> [WriteResult] {
        guard !writes.isEmpty else { return [] }
        let refused = pipeline.enqueue(writes)
        guard !refused.isEmpty else { return [] }
        let cursor = published.read { $0.cursor }
        return refused.map { .refusal(of: $0.id, because: .tooManyWrites, at: cursor) }
    }

    /// Makes and queues one write. Returns its refusal if the queue has no room.
    package func enqueue(_ id: WriteID, _ request: WriteRequest, for receiver: any WriteReceiver) -> WriteResult? {
        enqueue([makeWrite(id, request, for: receiver)]).first
    }

    /// The limits of the writes that are decided from now on.
    package var limits: WriteLimits {
        get { pipeline.limits }
        set { pipeline.limits = newValue }
    }

    /// True if deciding the queued writes takes so long that event loops should queue only one write per connection.
    package var isBusy: Bool { pipeline.isBusy }

    /// From now on, refuses writes whose estimated time exceeds ``PendingWrite/costlyThreshold``, including queued
    /// writes, so that the daemon can stop soon.
    package func refuseCostlyWrites() {
        pipeline.refuseCostlyWrites()
    }

    /// Calls the body once, on the commit thread, with the published state, when every queued write has its result.
    package func whenIdle(_ body: @escaping @Sendable (State) -> Void) {
        pipeline.whenIdle(body)
    }

    /// Adds a listener, which ``watch(_:)`` subscribes to one publication at a time.
    package func addListener(_ listener: any PublicationListener) -> ListenerID {
        published.addListener(listener)
    }

    /// Sets the listener that is notified when the pending actions (reverts and scheduled writes) have changed.
    func setPendingListener(_ listener: (any PublicationListener)?) {
        published.setPendingListener(listener)
    }

    package func removeListener(_ id: ListenerID) {
        published.removeListener(id)
    }

    /// Subscribes a listener to the next publication only. Returns the present state in the same step, so that the
    /// listener misses no publication.
    package func watch(_ id: ListenerID) -> State {
        published.watch(id)
    }

    /// Calls the body on the decide thread when the thread has decided its current slice, a group of queued writes. The
    /// watchdog uses this call to check that the thread is not blocked.
    package func runAfterDecideSlice(_ body: @escaping @Sendable () -> Void) {
        pipeline.runAfterDecideSlice(body)
    }

    /// Calls the body on the commit thread when the thread has flushed its current batches. A batch contains the writes
    /// that share one flush. The watchdog uses this call to check that the thread is not blocked.
    package func runAfterCommitBatches(_ body: @escaping @Sendable () -> Void) {
        pipeline.runAfterCommitBatches(body)
    }

    /// Makes the log perform its periodic maintenance, on the commit thread.
    package func performMaintenance() {
        pipeline.performMaintenance()
    }
}
