internal import CLinux
internal import Glibc

/// Nanoseconds since some moment, never running back. Tests bring one that they move by hand.
package struct MonotonicClock: Sendable {
    package let now: @Sendable () -> UInt64

    package init(now: @escaping @Sendable () -> UInt64) {
        self.now = now
    }

    package static let system = MonotonicClock {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
