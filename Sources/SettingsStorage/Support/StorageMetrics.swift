internal import Platform
package import SettingsAPI
internal import Synchronization

/// A histogram of durations in nanoseconds, or of counts.
package struct Histogram: Sendable {
    /// The inclusive upper bounds of all buckets except the last bucket, which has no bound.
    private let bounds: [UInt64]
    /// The number of values in each bucket.
    private var counts: [Int]
    package private(set) var sum: UInt64 = 0

    private init(_ bounds: [UInt64]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// An empty histogram for durations from 0.1 ms to 5 s.
    package static let times = Histogram([
        100_000, 500_000, 2_500_000, 10_000_000, 50_000_000, 250_000_000, 1_000_000_000, 5_000_000_000,
    ])
    /// An empty histogram for durations from 0.1 s to 30 minutes, in which clients of suites apply a commit.
    package static let rolloutTimes = Histogram([
        100_000_000, 500_000_000, 1_000_000_000, 5_000_000_000, 15_000_000_000, 60_000_000_000, 300_000_000_000,
        1_800_000_000_000,
    ])
    /// An empty histogram for counts from 1 to 4096.
    static let numbers = Histogram([1, 4, 16, 64, 256, 1024, 4096])

    package var count: Int { counts.reduce(0, +) }

    package mutating func add(_ value: UInt64) {
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        counts[bucket] += 1
        sum &+= value
    }

    package mutating func add(_ other: Histogram) {
        for bucket in counts.indices { counts[bucket] += other.counts[bucket] }
        sum &+= other.sum
    }

    /// The cumulative buckets of Prometheus: a bound (nil for infinity), and the number of values up to the bound.
    package var buckets: [(bound: UInt64?, count: Int)] {
        var total = 0
        return counts.indices.map { bucket in
            total += counts[bucket]
            return (bucket < bounds.count ? bounds[bucket] : nil, total)
        }
    }
}

/// Metrics of writes. The commit stage, which makes the commits of writes durable, updates the metrics once
/// for each batch (the writes that share a flush) whose flush succeeded or failed. An overtaken flush, whose writes are
/// decided again, and a batch that needs no flush do not count. Thread-safe.
package final class WriteMetrics: Sendable {
    package struct Contents {
        /// The times from the arrival of a write in the queue until its commit is durable or the write is refused, in
        /// nanoseconds.
        package var commitTimes = Histogram.times
        /// The numbers of writes per batch.
        package var batchSizes = Histogram.numbers
    }

    private let values = Mutex(Contents())

    package var contents: Contents { values.withLock { $0 } }

    /// Adds a batch of `count` writes, and the times of these writes in nanoseconds.
    func add(_ count: Int, times: some Sequence<UInt64>) {
        values.withLock { values in
            values.batchSizes.add(UInt64(count))
            for time in times { values.commitTimes.add(time) }
        }
    }
}

/// Metrics of the data directory, which the commit stage and background queues update. Thread-safe.
package final class StorageMetrics: Sendable {
    package struct Contents {
        /// The durations of syncs of the journal, in nanoseconds.
        package var syncTimes = Histogram.times
        package var failedSyncs = 0
        /// The size of the current journal.
        package var journalBytes = 0
        /// The approximate size of the commits after the newest snapshot, which the next start would read and apply.
        package var replayBytes = 0
        /// The size of the newest snapshot; 0 if none was written since the start.
        package var snapshotBytes = 0
        /// When the last snapshot was written, in monotonic nanoseconds; nil if none was written since the start.
        package var snapshotTime: UInt64?
        package var failedSnapshots = 0
        /// The number of past files, which keep commits longer than the history in memory.
        package var pastFiles = 0
        /// The total size of the past files.
        package var pastBytes = 0
        /// The time of the oldest commit in the past files; nil if there are no past files.
        package var oldestPastTime: Timestamp?
        /// When the last scrub (a search for damaged files) ended, in monotonic nanoseconds; nil if none has ended.
        package var scrubTime: UInt64?
        /// The number of files that the last scrub read.
        package var scrubbedFiles = 0
        /// The number of files that the last scrub found damaged.
        package var damagedFiles = 0
    }

    private let values = Mutex(Contents())

    package init() {}

    package var contents: Contents { values.withLock { $0 } }

    func update(_ change: (inout Contents) -> Void) { values.withLock { change(&$0) } }

    /// Runs a sync, and records its duration and whether it failed.
    func measureSync<Failure: Error>(_ sync: () throws(Failure) -> Void) throws(Failure) {
        let start = MonotonicClock.system.now()
        var hasSucceeded = false
        defer {
            let time = MonotonicClock.system.now() &- start
            update { values in
                values.syncTimes.add(time)
                if !hasSucceeded { values.failedSyncs += 1 }
            }
        }
        try sync()
        hasSucceeded = true
    }
}
