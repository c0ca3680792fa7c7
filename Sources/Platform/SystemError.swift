internal import CLinux
internal import Glibc

/// An error that a system call returned.
package struct SystemError: Error, Equatable, Sendable {
    package let call: String
    /// The `errno` of the call.
    package let code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Takes the `errno` that a call has just left.
    package init(call: String) {
        self.init(call: call, code: errno)
    }

    /// Returns the system's words for an `errno`.
    package static func text(_ code: Int32) -> String {
        // strerror returns storage of the calling thread since glibc 2.32.
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "\(call): \(Self.text(code)) (error \(code))" }
}

/// A clock that returns nanoseconds since some moment and never runs back. Tests move one by hand.
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
