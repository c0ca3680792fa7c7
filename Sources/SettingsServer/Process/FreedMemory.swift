internal import Platform

/// Returns freed memory from the heap to the operating system.
enum FreedMemory {
    /// The seconds between two calls of ``trim()``.
    static let trimInterval = 4

    /// Makes the allocator return each block of 256 KiB or more to the operating system as soon as the block is freed.
    /// Without this setting, the allocator would raise this threshold after each returned block, up to 32 MB, and would
    /// keep freed blocks below the threshold.
    static func configureAllocator() {
        // `idleSize` is how much unused memory the allocator keeps at the end of the heap. With a small size, the
        // allocator would often return this memory and request it again. `trim` returns the memory instead.
        Heap.setThresholds(largeBlockSize: 256 << 10, idleSize: 64 << 20)
    }

    /// Returns the unused pages of the heap to the operating system.
    ///
    /// A call takes 0.1 to 2.5 ms with a million settings, and 30 ms after most of the settings were removed. Threads
    /// that allocate memory may have to wait for the call, which therefore does not run on an event loop.
    static func trim() {
        Heap.trim()
    }
}
