internal import Glibc

/// A clock that returns nanoseconds since an unspecified moment and never runs back. Tests advance their own clocks by hand.
package struct MonotonicClock: Sendable {
    package let now: @Sendable () -> UInt64

    package init(now: @escaping @Sendable () -> UInt64) {
        self.now = now
    }

    package static let system = MonotonicClock {
        let time = timespec(of: CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// The time of day, which an administrator can set back.
package enum WallClock {
    /// The milliseconds since 1970.
    package static var milliseconds: Int64 {
        let time = timespec(of: CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The seconds since 1970. The value may be a few milliseconds old, which makes it cheaper to read.
    package static var coarseSeconds: Int {
        timespec(of: CLOCK_REALTIME_COARSE).tv_sec
    }
}

extension timespec {
    fileprivate init(of clock: clockid_t) {
        self.init()
        clock_gettime(clock, &self)
    }
}
