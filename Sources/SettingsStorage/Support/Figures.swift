internal import Platform
package import SettingsAPI
internal import Synchronization

/// A histogram of times in nanoseconds, or of numbers.
package struct Histogram: Sendable {
    /// The upper bounds of the buckets; what lies above the last is in one more.
    private let bounds: [UInt64]
    private var counts: [Int]
    package private(set) var sum: UInt64 = 0

    private init(_ bounds: [UInt64]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// Times from a tenth of a millisecond to five seconds.
    package static let times = Histogram([
        100_000, 500_000, 2_500_000, 10_000_000, 50_000_000, 250_000_000, 1_000_000_000, 5_000_000_000,
    ])
    /// Numbers from one to 4096.
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

    /// The buckets as Prometheus has them: bound, and the number of values up to it.
    package var buckets: [(bound: UInt64?, count: Int)] {
        var total = 0
        return counts.indices.map { bucket in
            total += counts[bucket]
            return (bucket < bounds.count ? bounds[bucket] : nil, total)
        }
    }
}

/// The figures of writes: one lock for a batch, none for a read.
package final class WriteFigures: Sendable {
    package struct Contents {
        /// From being queued to being durable.
        package var commits = Histogram.times
        /// The writes of a batch.
        package var batches = Histogram.numbers
    }

    private let kept = Mutex(Contents())

    package var contents: Contents { kept.withLock { $0 } }

    func add(_ count: Int, times: some Sequence<UInt64>) {
        kept.withLock { kept in
            kept.batches.add(UInt64(count))
            for time in times { kept.commits.add(time) }
        }
    }
}

/// The figures of the data directory, which the commit stage and the queues in the background note.
package final class StorageFigures: Sendable {
    package struct Contents {
        package var syncs = Histogram.times
        package var failedSyncs = 0
        package var journalBytes = 0
        /// The bytes of commits that a start would replay, about.
        package var replayBytes = 0
        package var snapshotBytes = 0
        /// When the newest snapshot was written, in monotonic nanoseconds; nil if none was since the start.
        package var snapshotTime: UInt64?
        package var failedSnapshots = 0
        /// The past files in use, their bytes, and when the oldest commit in them was made; nil if there are none.
        package var pastFiles = 0
        package var pastBytes = 0
        package var oldestPast: Timestamp?
        /// When the last scrub ended, in monotonic nanoseconds; nil if none did since the start.
        package var scrubTime: UInt64?
        /// The files that the last scrub read.
        package var scrubbedFiles = 0
        /// Those of them that are not as they were written.
        package var damagedFiles = 0
    }

    private let kept = Mutex(Contents())

    package init() {}

    package var contents: Contents { kept.withLock { $0 } }

    func update(_ change: (inout Contents) -> Void) { kept.withLock { change(&$0) } }

    /// Times a sync.
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
