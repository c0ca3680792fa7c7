internal import CLinux
internal import Glibc

/// The heap of the C library.
package enum Heap {
    /// Sets two thresholds of the allocator. Without this call, the C library adapts both thresholds at run time.
    ///
    /// - Parameters:
    ///   - largeBlockSize: A freed block of at least this many bytes returns to the system at once.
    ///   - idleSize: Free memory at the top of the heap returns to the system when it exceeds this many bytes.
    package static func setThresholds(largeBlockSize: Int32, idleSize: Int32) {
        mallopt(M_MMAP_THRESHOLD, largeBlockSize)
        mallopt(M_TRIM_THRESHOLD, idleSize)
    }

    /// Returns free memory to the system. The duration of the call grows with the number of free blocks, and other
    /// threads that allocate memory may wait until the call returns.
    package static func trim() {
        malloc_trim(0)
    }
}
