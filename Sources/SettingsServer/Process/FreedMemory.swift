internal import CLinux
internal import Synchronization

/// A trimmer that gives freed memory back to the system. The C library keeps most of what a burst has freed for the next one.
final class FreedMemory: Sendable {
    /// The growth of free memory since the last trim that makes another due, in bytes.
    private static let step = 16 << 20
    /// The calls of `giveBack` between two looks at the heap. A look takes time for each free piece of it.
    private static let interval = 4

    private struct Heap {
        /// The bytes that were free after the last trim, or fewer.
        var free: Int
        var calls = 0
    }

    private let heap = Mutex(Heap(free: freeBytes()))

    /// Trims the heap if much of it was freed. To be called about once a second, on no event loop: while the heap is
    /// looked through, threads that allocate may wait.
    func giveBack() {
        let isLook = heap.withLock { heap in
            heap.calls += 1
            return heap.calls.isMultiple(of: Self.interval)
        }
        guard isLook else { return }
        let free = Self.freeBytes()
        let isDue = heap.withLock { heap in
            defer { heap.free = min(heap.free, free) }
            return free >= heap.free + Self.step
        }
        guard isDue else { return }
        malloc_trim(0)
        let left = Self.freeBytes()
        heap.withLock { $0.free = left }
    }

    private static func freeBytes() -> Int {
        Int(clamping: mallinfo2().fordblks)
    }
}
