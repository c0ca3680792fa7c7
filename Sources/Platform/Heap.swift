internal import CLinux
internal import Glibc

/// The heap of the C library.
package enum Heap {
    /// Fixes the limits that the C library otherwise adapts to the program.
    ///
    /// - Parameters:
    ///   - largeBlockSize: Blocks of at least this many bytes return to the system as soon as they are freed.
    ///   - idleSize: Without a call of ``trim()``, the top of the heap returns to the system when it has this many free bytes.
    package static func setThresholds(largeBlockSize: Int32, idleSize: Int32) {
        mallopt(M_MMAP_THRESHOLD, largeBlockSize)
        mallopt(M_TRIM_THRESHOLD, idleSize)
    }

    /// Gives free memory back to the system. The time of the call grows with the number of free blocks, and threads that
    /// allocate memory may wait meanwhile.
    package static func trim() {
        malloc_trim(0)
    }
}
