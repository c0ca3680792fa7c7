package import SettingsEngine

/// The limits of the write path: of the queue, of a slice (the queued writes that the decide stage takes at once), and
/// of a batch (the decided writes that share one flush). To decide a write is to compute its commit or its refusal.
package struct WriteLimits: Sendable {
    /// The maximum total bytes of queued requests. The queue refuses writes that would exceed the maximum.
    package var waitingBytes = 64 << 20
    /// The maximum number of writes in a batch.
    package var batchCount = 4096
    /// The total bytes of writes at which a batch is full. The last write of a batch may exceed this limit.
    package var batchBytes = 8 << 20
    /// The nanoseconds after which the decide stage ends a slice. The remaining writes return to the queue.
    package var sliceTime: UInt64 = 20_000_000
    /// The nanoseconds after the arrival of a write at which the write is refused if it has no result.
    package var queueTimeout: UInt64 = 10_000_000_000
    /// The maximum nanoseconds for which a costly write (``PendingWrite/isCostly``) waits for cheap writes.
    package var maximumYield: UInt64 = 1_000_000_000
    /// The maximum number of keys that one write may change or check in conditions, and that a suite may contain when
    /// its schema is changed.
    package var commitKeys = 100_000
    /// True if a write that stores a value may create its suite. If false, only setting a schema creates a suite.
    package var createsSuites = true
    package var quotas = Quotas()

    package init() {}

    /// The nanoseconds after the arrival of a write at which the decide stage refuses the write. The last tenth of
    /// ``queueTimeout`` is left for the flush.
    var decideTimeout: UInt64 { queueTimeout / 10 * 9 }
}
