import Dispatch
import Glibc
import Synchronization

/// How long a read takes.
struct ReadTiming {
    /// Nanoseconds a read, on one thread alone.
    let alone: Double
    /// The same while another thread reads another key all the time.
    let besideOther: Double
    /// The same while another thread reads the same.
    let besideSame: Double

    /// Reads in one batch: long enough for the clock's own cost to vanish, short enough that hardly any is interrupted.
    private static let batch = 2000
    /// Reads after which the other thread says how far it is.
    private static let step = 50

    /// A sink for results, so that the optimiser does not remove the reads.
    private static let sink = Atomic(0)

    init(_ read: Read, other: Read, milliseconds: Int) throws {
        alone = try Self.median(of: read, milliseconds)
        besideOther = try Self.median(of: read, milliseconds, beside: Other(other))
        besideSame = try Self.median(of: read, milliseconds, beside: Other(read))
    }

    /// The median of batches over some time. Beside another thread only those count during which both had a core: this
    /// one was not interrupted, and the other read at least a quarter as often.
    private static func median(of read: Read, _ milliseconds: Int, beside other: Other? = nil) throws -> Double {
        defer { other?.stop() }
        var figures: [Double] = []
        let end = monotonicNanoseconds() + milliseconds * 1_000_000
        let latest = end + 60_000_000_000
        while monotonicNanoseconds() < end || figures.count < 100 {
            let before = (steps: other?.steps ?? 0, interruptions: interruptions())
            let figure = time(read.body, count: batch)
            if let other, (other.steps - before.steps) * step < batch / 4 || interruptions() > before.interruptions {
                if monotonicNanoseconds() > latest { throw CostFailure("two threads do not get to run at once") }
                continue
            }
            figures.append(figure)
        }
        return figures.sorted()[figures.count / 2]
    }

    /// How often another program got the core of this thread. Waiting for something is none.
    private static func interruptions() -> Int {
        var usage = rusage()
        // Of this thread alone: the name for it is a GNU extension.
        getrusage(__rusage_who_t(1), &usage)
        return usage.ru_nivcsw
    }

    @inline(never)
    private static func time(_ read: @Sendable () -> Int, count: Int) -> Double {
        var sum = 0
        let start = monotonicNanoseconds()
        for _ in 0..<count { sum &+= read() }
        let spent = monotonicNanoseconds() - start
        sink.wrappingAdd(sum, ordering: .relaxed)
        return Double(spent) / Double(count)
    }

    /// Another thread that reads all the time.
    private final class Other: Sendable {
        private let count = Atomic(0)
        private let isOver = Atomic(false)
        private let group = DispatchGroup()

        init(_ read: Read) {
            DispatchQueue.global().async(group: group) { [self] in
                while !isOver.load(ordering: .acquiring) {
                    _ = time(read.body, count: step)
                    count.wrappingAdd(1, ordering: .relaxed)
                }
            }
        }

        var steps: Int { count.load(ordering: .relaxed) }

        func stop() {
            isOver.store(true, ordering: .releasing)
            group.wait()
        }
    }
}
