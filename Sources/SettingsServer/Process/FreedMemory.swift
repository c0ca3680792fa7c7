internal import CLinux
internal import Platform
internal import Synchronization

/// A trimmer that gives freed memory back to the system. The C library keeps most of what a burst has freed for the next one.
final class FreedMemory: Sendable {
    /// The seconds between two calls of ``giveBack()``. A look at the heap takes time for each free piece of it.
    static let interval = 4
    /// The growth of ``idleBytes`` since the last trim that makes another due.
    private static let step = 16 << 20

    /// The ``idleBytes`` after the last trim, or fewer, and whether that trim gave much back. Then the next look trims again: it
    /// may have come amid a burst.
    private let last = Mutex((left: 0, gaveMuch: false))

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
        let idle = Self.idleBytes
        let isDue = last.withLock { last in
            defer { last = (min(last.left, idle), false) }
            return last.gaveMuch || idle >= last.left + Self.step
        }
        guard isDue else { return }
        malloc_trim(0)
        let left = Self.idleBytes
        last.withLock { $0 = (left, idle - left >= Self.step / 4) }
    }

    /// The resident bytes that the heap does not use. What the library counts as free would not do: that has memory in it
    /// which was given back already, and a burst that takes and frees that again between two calls would not show.
    private static var idleBytes: Int {
        let heap = mallinfo2()
        return ProcessFigures.residentBytes - Int(clamping: heap.uordblks) - Int(clamping: heap.hblkhd)
    }
}
