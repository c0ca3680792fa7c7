internal import CLinux
internal import Glibc

/// The thread that runs this code.
package enum CurrentThread {
    /// A number that no other running thread has. It is never 0.
    package static var identifier: UInt { UInt(pthread_self()) }

    /// Suspends the thread. A signal may end the sleep early.
    package static func sleep(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        nanosleep(&time, nil)
    }

    /// Tells the scheduler of the kernel that the thread mostly waits. The thread then yields to busy threads, but gets a
    /// processor soon after it wakes up. See `schedule_as_waiting` in CLinux.
    package static func scheduleAsWaiting() {
        schedule_as_waiting()
    }
}
