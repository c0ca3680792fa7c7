internal import Platform

/// Settings of the heap, and its periodic trim.
enum FreedMemory {
    /// The seconds between two calls of ``trim()``.
    static let trimInterval = 4

    /// Makes the allocator return each block of 256 KiB or more to the system as soon as the block is freed. Without this setting, the
    /// allocator raises its threshold up to 32 MB when such a block is freed, and keeps blocks below the threshold.
    static func returnLargeBlocks() {
        // With a small `idleSize`, the allocator would return and request smaller blocks all the time. `trim` returns them.
        Heap.setThresholds(largeBlockSize: 256 << 10, idleSize: 64 << 20)
    }

    /// Returns the unused pages of the heap to the system.
    ///
    /// A call takes 0.1 to 2.5 ms with a million settings, and 30 ms after most of them were removed. Threads that allocate may wait
    /// meanwhile, so event loops do not call it.
    static func trim() {
        Heap.trim()
    }
}
