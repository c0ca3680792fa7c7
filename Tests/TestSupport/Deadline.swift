package import Dispatch
internal import Glibc

/// The time at which a test stops waiting for an event.
package struct Deadline {
    /// The longest wait of a test in seconds. The limit is long enough for a busy machine, so only a defect exceeds it.
    package static let patience = 180

    private let time: Int

    init(seconds: Int = patience) {
        self.init(milliseconds: seconds * 1000)
    }

    init(milliseconds: Int) {
        time = Self.now + milliseconds
    }

    /// The remaining time as the timeout of `poll`; 0 after the deadline.
    var milliseconds: Int32 { Int32(max(0, time - Self.now)) }

    /// Waits until a descriptor is ready, and returns the indices of all ready descriptors. Returns an empty array
    /// after the deadline.
    func wait(for events: Int32, on descriptors: [Int32]) -> [Int] {
        var polled = descriptors.map { pollfd(fd: $0, events: Int16(events), revents: 0) }
        while poll(&polled, nfds_t(polled.count), milliseconds) < 0, errno == EINTR {}
        return polled.indices.filter { polled[$0].revents != 0 }
    }

    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000
    }
}

/// Repeats the closure until it returns true. Throws an error after `Deadline.patience`.
package func eventually(_ function: StaticString = #function, _ isTrue: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(Deadline.patience)
    while try !isTrue() {
        guard ContinuousClock.now < end else { throw ConditionTimeout(function: function) }
        // Pauses for a millisecond, because the threads that make the condition true may need this processor.
        poll(nil, 0, 1)
    }
}

/// The error of a condition that did not become true in time.
private struct ConditionTimeout: Error {
    let function: StaticString
}

extension DispatchSemaphore {
    /// Waits for the semaphore. Terminates the program after `Deadline.patience`, because the signal will not come.
    package func patientWait(_ function: StaticString = #function) {
        guard wait(timeout: .now() + .seconds(Deadline.patience)) == .success else {
            fatalError("\(function) waited too long")
        }
    }
}
