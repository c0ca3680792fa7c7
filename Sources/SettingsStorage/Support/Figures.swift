internal import Platform
package import SettingsAPI
internal import Synchronization

/// A histogram of durations in nanoseconds, or of counts.
package struct Histogram: Sendable {
    /// The inclusive upper bounds of the buckets. An additional bucket has no bound.
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

    /// The cumulative buckets of the Prometheus format: a bound, nil for infinity, and the number of values up to the
    /// bound.
    package var buckets: [(bound: UInt64?, count: Int)] {
        var total = 0
        return counts.indices.map { bucket in
            total += counts[bucket]
            return (bucket < bounds.count ? bounds[bucket] : nil, total)
        }
    }
}

/// Metrics of writes. The commit stage locks the mutex once per batch.
package final class WriteFigures: Sendable {
    package struct Contents {
        /// The times from the arrival of a write in the queue until its commit is durable, in nanoseconds.
        package var commits = Histogram.times
        /// The numbers of writes per batch.
        package var batches = Histogram.numbers
    }

    private let kept = Mutex(Contents())

    package var contents: Contents { kept.withLock { $0 } }
    /// Adds a batch of `count` writes, and the times of its commits in nanoseconds.

    func add(_ count: Int, times: some Sequence<UInt64>) {
        kept.withLock { kept in
            kept.batches.add(UInt64(count))
            for time in times { kept.commits.add(time) }
        }
    }
}

/// Metrics of the data directory, which the commit stage and background queues update. Thread-safe.
package final class StorageFigures: Sendable {
    package struct Contents {
        /// The durations of syncs of the journal, in nanoseconds.
        package var syncs = Histogram.times
        package var failedSyncs = 0
        package var journalBytes = 0
        /// The approximate size of the commits that the next start would replay.
        package var replayBytes = 0
        package var snapshotBytes = 0
        /// When the newest snapshot was written, in monotonic nanoseconds; nil if there was no snapshot since the
        /// start.
        package var snapshotTime: UInt64?
        package var failedSnapshots = 0
        /// The number of past files (files with commits that the history has evicted), their total size, and the time
        /// of the oldest commit in them; nil if there is no past file.
        package var pastFiles = 0
        package var pastBytes = 0
        package var oldestPast: Timestamp?
        /// When the last scrub (a daily read of all files to find damage) ended, in monotonic nanoseconds; nil before
        /// the first.
        package var scrubTime: UInt64?
        /// The number of files that the last scrub read.
        package var scrubbedFiles = 0
        /// The number of files that the last scrub found damaged.
        package var damagedFiles = 0
    }

    private let kept = Mutex(Contents())

    package init() {}

    package var contents: Contents { kept.withLock { $0 } }

    func update(_ change: (inout Contents) -> Void) { kept.withLock { change(&$0) } }

    /// Runs a sync, and records its duration and whether it failed.
    func timing<Failure: Error>(_ sync: () throws(Failure) -> Void) throws(Failure) {
        let start = MonotonicClock.system.now()
        var isDone = false
        defer {
            let time = MonotonicClock.system.now() &- start
            update { kept in
                kept.syncs.add(time)
                if !isDone { kept.failedSyncs += 1 }
            }
        }
        try sync()
        isDone = true
    }
}
