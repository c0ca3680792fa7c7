internal import Glibc

/// A clock that never runs backwards. It counts nanoseconds from an unspecified moment. Tests pass a clock that they
/// advance themselves.
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

/// The system's real-time clock. It can jump backwards, because an administrator or a time service can set it.
package enum WallClock {
    /// The milliseconds since 1970-01-01 00:00 UTC.
    package static var milliseconds: Int64 {
        let time = timespec(of: CLOCK_REALTIME)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The seconds since 1970-01-01 00:00 UTC. This clock is cheaper to read than ``milliseconds``, but it is late by
    /// up to a few milliseconds.
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
