import Dispatch
import Synchronization

/// How long a read takes, on one thread and beside another thread that does the same all the time.
struct ReadTiming {
    let name: String
    /// Nanoseconds a read.
    let alone: Double
    let besideAnother: Double

    /// Reads in one batch: long enough for the clock's own cost to vanish, short enough that hardly any is interrupted.
    private static let batch = 2000

    /// Where results go, so that nobody finds that they are not needed.
    private static let sink = Atomic(0)

    init(_ read: Read, milliseconds: Int) {
        name = read.name
        alone = Self.median(of: read.body, milliseconds)
        besideAnother = Self.beside(read.body) { Self.median(of: read.body, milliseconds) }
    }

    /// The median of batches over some time.
    private static func median(of read: @Sendable () -> Int, _ milliseconds: Int) -> Double {
        var figures: [Double] = []
        let end = monotonicNanoseconds() + milliseconds * 1_000_000
        while monotonicNanoseconds() < end || figures.count < 3 { figures.append(time(read)) }
        return figures.sorted()[figures.count / 2]
    }

    @inline(never)
    private static func time(_ read: @Sendable () -> Int) -> Double {
        var sum = 0
        let start = monotonicNanoseconds()
        for _ in 0..<batch { sum &+= read() }
        let spent = monotonicNanoseconds() - start
        sink.add(sum, ordering: .relaxed)
        return Double(spent) / Double(batch)
    }

    /// Does something while another thread reads; it has begun to when the body begins.
    private static func beside(_ read: @escaping @Sendable () -> Int, _ body: () -> Double) -> Double {
        let flags = Flags()
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            while !flags.isOver.load(ordering: .acquiring) {
                _ = time(read)
                flags.hasBegun.store(true, ordering: .releasing)
            }
        }
        while !flags.hasBegun.load(ordering: .acquiring) {}
        let result = body()
        flags.isOver.store(true, ordering: .releasing)
        group.wait()
        return result
    }

    private final class Flags: Sendable {
        let hasBegun = Atomic(false)
        let isOver = Atomic(false)
    }
}
