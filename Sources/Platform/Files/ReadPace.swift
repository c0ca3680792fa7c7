internal import Glibc
internal import Synchronization

/// A speed limit for the reads with which the daemon looks for damaged files. These reads must test the disk, so a file
/// is removed from the page cache before its first read, and the bytes of each read are removed after the read.
/// Thread-safe.
package final class ReadPace: Sendable {
    private let bytesPerSecond: Int
    private let hasStopped = Atomic(false)
    /// The longest sleep in microseconds. A read sleeps in steps of at most this length, so that ``stop()`` takes
    /// effect after one step.
    private static let longestSleep = 50_000

    package init(bytesPerSecond: Int) {
        self.bytesPerSecond = bytesPerSecond
    }

    /// True after ``stop()`` was called.
    package var isStopped: Bool { hasStopped.load(ordering: .relaxed) }

    /// Makes all later reads fail with `ECANCELED`, and ends the sleep of a read within 50 ms.
    package func stop() {
        hasStopped.store(true, ordering: .relaxed)
    }

    /// Calls `pread`, sleeps for the time that the bytes take at the limited speed, and returns the result of `pread`.
    func read(_ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isStopped else {
            errno = ECANCELED
            return -1
        }
        // Remove the whole file from the page cache before the first read.
        if offset == 0 { posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }
        let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        guard count > 0 else { return count }
        posix_fadvise(descriptor, off_t(offset), off_t(count), POSIX_FADV_DONTNEED)
        var remainingTime = count * 1_000_000 / bytesPerSecond
        while remainingTime > 0, !isStopped {
            usleep(UInt32(min(remainingTime, Self.longestSleep)))
            remainingTime -= Self.longestSleep
        }
        return count
    }
}
