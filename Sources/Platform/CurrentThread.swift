internal import CLinux
internal import Glibc

/// The thread that runs this code.
package enum CurrentThread {
    /// A number that identifies the thread among all running threads of the process. It is never 0.
    package static var identifier: UInt { UInt(pthread_self()) }

    /// Suspends the thread for a duration, or until a signal arrives.
    package static func sleep(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        nanosleep(&time, nil)
    }

    /// Tells the kernel's scheduler that the current thread waits most of the time. The thread then gets less processor
    /// time than busy threads, but runs soon after it wakes up. See `schedule_as_waiting` in CLinux.h.
    package static func scheduleAsWaiting() {
        schedule_as_waiting()
    }
}
