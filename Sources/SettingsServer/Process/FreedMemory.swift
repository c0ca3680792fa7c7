internal import CLinux
internal import Synchronization

/// A trimmer that gives freed memory back to the system. The C library keeps most of what a burst has freed for the next one.
final class FreedMemory: Sendable {
    /// The seconds between two calls of ``giveBack()``. A look at the heap takes time for each free piece of it.
    static let interval = 4
    /// The growth of free memory since the last trim that makes another due, in bytes.
    private static let step = 16 << 20

    /// The bytes that were free after the last trim, or fewer.
    private let left = Mutex(0)

    /// Has the C library give each block of 256 KiB or more back as soon as it is freed. Left alone, it raises that limit
    /// whenever such a block is freed, up to 32 MB, and keeps them from then on.
    static func giveBackLargeBlocks() {
        mallopt(M_MMAP_THRESHOLD, 256 << 10)
        // Smaller blocks it would otherwise give back and fetch again all the time; `giveBack` does that now and then.
        mallopt(M_TRIM_THRESHOLD, 64 << 20)
    }

    /// Trims the heap if much of it was freed. Not for event loops: while the heap is looked through, threads that allocate
    /// may wait.
    func giveBack() {
        let free = Self.freeBytes()
        let isDue = left.withLock { left in
            defer { left = min(left, free) }
            return free >= left + Self.step
        }
        guard isDue else { return }
        malloc_trim(0)
        let remaining = Self.freeBytes()
        left.withLock { $0 = remaining }
    }

    private static func freeBytes() -> Int {
        Int(clamping: mallinfo2().fordblks)
    }
}
