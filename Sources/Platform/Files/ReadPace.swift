internal import Glibc
internal import Synchronization

/// A pace for files that are read only to see that they can be: slowly, from the disk instead of the page cache, and
/// without filling that.
package final class ReadPace: Sendable {
    private let bytesPerSecond: Int
    private let hasStopped = Atomic(false)
    /// In microseconds.
    private static let longestSleep = 50_000

    package init(bytesPerSecond: Int) {
        self.bytesPerSecond = bytesPerSecond
    }

    /// True once reads throw `ECANCELED`.
    package var isStopped: Bool { hasStopped.load(ordering: .relaxed) }

    package func stop() {
        hasStopped.store(true, ordering: .relaxed)
    }

    /// Reads as `pread` does. Then sleeps as long as the bytes are to take.
    func read(_ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !isStopped else {
            errno = ECANCELED
            return -1
        }
        if offset == 0 { posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }
        let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
        guard count > 0 else { return count }
        posix_fadvise(descriptor, off_t(offset), off_t(count), POSIX_FADV_DONTNEED)
        var left = count * 1_000_000 / bytesPerSecond
        while left > 0, !isStopped {
            usleep(UInt32(min(left, Self.longestSleep)))
            left -= Self.longestSleep
        }
        return count
    }
}
