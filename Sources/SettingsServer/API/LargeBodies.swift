internal import Dispatch
internal import Synchronization

/// Where the bodies of large writes are read: beside the loops, which have others to serve, one at a time.
///
/// A body of a megabyte takes 6 ms to parse, and a schema of a hundred thousand keys two seconds to compile. What waits
/// is bounded by its bytes; and by its number, since none is small.
final class LargeBodies: Sendable {
    /// From this size on a body is not read on its loop: parsing it would take about half a millisecond, and compiling
    /// a schema of that size some twenty.
    static let least = 64 << 10

    private let queue: DispatchQueue
    private let limit: Int
    private let bytes = Mutex(0)

    init(limit: Int, queue: DispatchQueue) {
        self.limit = limit
        self.queue = queue
    }

    /// The bytes of what waits or is being read.
    var waitingBytes: Int { bytes.withLock { $0 } }

    /// Has a body of a size read; false if there is no room for it to wait.
    func read(_ size: Int, _ work: @escaping @Sendable () -> Void) -> Bool {
        let isTaken = bytes.withLock { bytes in
            guard bytes + size <= limit else { return false }
            bytes += size
            return true
        }
        guard isTaken else { return false }
        queue.async {
            work()
            self.bytes.withLock { $0 -= size }
        }
        return true
    }
}
