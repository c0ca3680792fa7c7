package import SettingsEngine

/// The limits of the write path.
package struct WriteLimits: Sendable {
    /// The bytes of requests that may wait in the queue. The queue refuses further writes.
    package var waitingBytes = 64 << 20
    /// The most writes that one flush makes durable.
    package var batchCount = 4096
    /// The most bytes of requests that one flush makes durable. A flush always takes at least one write.
    package var batchBytes = 8 << 20
    /// The nanoseconds after which a slice of the decide stage ends.
    package var sliceTime: UInt64 = 20_000_000
    /// The nanoseconds after which a write that was not answered is refused.
    package var queueTimeout: UInt64 = 10_000_000_000
    /// The most nanoseconds for which cheap writes go before a costly write.
    package var longestYield: UInt64 = 1_000_000_000
    /// The most keys that one write may change, and that a suite may store when its schema changes.
    package var commitKeys = 100_000
    /// True if a write that stores something creates its suite; else only a schema does.
    package var createsSuites = true
    /// The quotas of what is stored.
    package var quotas = Quotas()

    package init() {}

    /// The nanoseconds after which the decide stage refuses a write. The last tenth of the queue timeout is left for the flush.
    var decideTimeout: UInt64 { queueTimeout / 10 * 9 }
}
