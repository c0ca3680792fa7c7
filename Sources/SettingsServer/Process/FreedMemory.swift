internal import CLinux

/// Settings of the C library's allocator.
enum FreedMemory {
    /// The seconds between two calls of ``trim()``.
    static let trimInterval = 4

    /// Makes the allocator return each block of 256 KiB or more to the system as soon as the block is freed. Without this setting, the
    /// allocator raises its threshold up to 32 MB when such a block is freed, and keeps blocks below the threshold.
    static func returnLargeBlocks() {
        mallopt(M_MMAP_THRESHOLD, 256 << 10)
        // With the default, the allocator would return and fetch smaller blocks all the time; `trim` returns them now and then.
        mallopt(M_TRIM_THRESHOLD, 64 << 20)
    }

    /// Returns the unused pages of the heap to the system.
    ///
    /// A call takes 0.1 to 2.5 ms with a million settings, and 30 ms after most of them were removed. Threads that allocate may wait
    /// meanwhile, so event loops do not call it.
    static func trim() {
        malloc_trim(0)
    }
}
