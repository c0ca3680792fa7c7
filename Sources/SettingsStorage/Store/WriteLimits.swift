package import SettingsEngine

/// The limits of the write path: of the queue, of a slice (writes that are decided in one run), and of a batch (writes
/// that share one flush to the log).
package struct WriteLimits: Sendable {
    /// The maximum total bytes of queued requests. The queue refuses further writes.
    package var waitingBytes = 64 << 20
    /// The maximum number of writes that share one flush.
    package var batchCount = 4096
    /// The maximum total bytes of writes that share one flush. A single larger write gets its own flush.
    package var batchBytes = 8 << 20
    /// The nanoseconds after which a slice of the decide stage ends.
    package var sliceTime: UInt64 = 20_000_000
    /// The nanoseconds after its arrival at which a write without a result is refused.
    package var queueTimeout: UInt64 = 10_000_000_000
    /// The maximum nanoseconds for which a costly write waits while cheap writes are decided first.
    package var maximumYield: UInt64 = 1_000_000_000
    /// The maximum number of keys that one write may change, and that a suite may contain when its schema is changed.
    package var commitKeys = 100_000
    /// True if a write that stores a value may create its suite. If false, only setting a schema creates a suite.
    package var createsSuites = true
    /// The limits of the stored data.
    package var quotas = Quotas()

    package init() {}

    /// The time limit of the decide stage, after the arrival of a write. The flush gets the last tenth of the timeout.
    var decideTimeout: UInt64 { queueTimeout / 10 * 9 }
}
