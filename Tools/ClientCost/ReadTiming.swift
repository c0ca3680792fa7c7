import Dispatch
import Glibc
import Synchronization

/// The median duration of a read in nanoseconds.
struct ReadTiming {
    /// The duration while no other thread reads.
    let alone: Double
    /// The duration while a second thread reads another key.
    let besideOther: Double
    /// The duration while a second thread reads the same key.
    let besideSame: Double

    /// The number of reads in a batch, which is timed as a whole. Reading the clock takes a negligible part of this
    /// time, and most batches are not interrupted.
    private static let batchSize = 2000
    /// The number of reads after which the second thread increments the counter `completedSteps`.
    private static let stepSize = 50

    /// The sum of all results. It is stored, so that the optimizer does not remove the reads.
    private static let sink = Atomic(0)

    init(_ read: Read, other: Read, milliseconds: Int) throws {
        alone = try Self.median(of: read, milliseconds)
        besideOther = try Self.median(of: read, milliseconds, beside: ReadingThread(other))
        besideSame = try Self.median(of: read, milliseconds, beside: ReadingThread(read))
    }

    /// Returns the median duration of a read in the batches of a period. With a second thread, a batch counts only if
    /// both threads ran during the batch: this thread was not interrupted, and the second thread made at least a
    /// quarter as many reads.
    private static func median(of read: Read, _ milliseconds: Int, beside other: ReadingThread? = nil) throws -> Double
    {
        defer { other?.stop() }
        var durations: [Double] = []
        let end = monotonicNanoseconds() + milliseconds * 1_000_000
        // If the measurement still has too few batches one minute after `end`, it fails.
        let failureTime = end + 60_000_000_000
        while monotonicNanoseconds() < end || durations.count < 100 {
            let before = (steps: other?.steps ?? 0, interruptions: interruptions())
            let duration = time(read.body, count: batchSize)
            if let other,
                (other.steps - before.steps) * stepSize < batchSize / 4 || interruptions() > before.interruptions
            {
                if monotonicNanoseconds() > failureTime {
                    throw CostFailure("cannot measure: two threads do not run at the same time on this machine")
                }
                continue
            }
            durations.append(duration)
        }
        return durations.sorted()[durations.count / 2]
    }

    /// Returns how often the kernel has taken the core from this thread. Voluntary waits do not count.
    private static func interruptions() -> Int {
        var usage = rusage()
        // 1 is `RUSAGE_THREAD`, a GNU extension that Swift does not import.
        getrusage(__rusage_who_t(1), &usage)
        return usage.ru_nivcsw
    }

    /// Returns the nanoseconds per read.
    @inline(never)
    private static func time(_ read: @Sendable () -> Int, count: Int) -> Double {
        var sum = 0
        let start = monotonicNanoseconds()
        for _ in 0..<count { sum &+= read() }
        let spent = monotonicNanoseconds() - start
        sink.wrappingAdd(sum, ordering: .relaxed)
        return Double(spent) / Double(count)
    }

    /// A second thread that reads without pause until ``stop()``.
    private final class ReadingThread: Sendable {
        private let completedSteps = Atomic(0)
        private let isStopped = Atomic(false)
        private let group = DispatchGroup()

        init(_ read: Read) {
            DispatchQueue.global().async(group: group) { [self] in
                while !isStopped.load(ordering: .acquiring) {
                    _ = time(read.body, count: stepSize)
                    completedSteps.wrappingAdd(1, ordering: .relaxed)
                }
            }
        }

        /// The number of completed steps of ``ReadTiming/stepSize`` reads.
        var steps: Int { completedSteps.load(ordering: .relaxed) }

        func stop() {
            isStopped.store(true, ordering: .releasing)
            group.wait()
        }
    }
}
