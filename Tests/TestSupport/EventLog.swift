internal import Dispatch
internal import Synchronization

/// A thread-safe log of events in order, for which a test can wait.
package final class EventLog: Sendable {
    private let events = Mutex<[String]>([])
    /// Signalled once for each added event.
    private let added = DispatchSemaphore(value: 0)

    package init() {}

    package var all: [String] { events.withLock { $0 } }

    package func add(_ event: String) {
        events.withLock { $0.append(event) }
        added.signal()
    }

    /// The number of times that an event was added.
    package func count(_ event: String) -> Int {
        all.count { $0 == event }
    }

    /// Waits until the events satisfy the condition. Returns false after `Deadline.patience` seconds.
    package func wait(_ condition: ([String]) -> Bool) -> Bool {
        let end = DispatchTime.now() + .seconds(Deadline.patience)
        while !condition(all) {
            if added.wait(timeout: end) == .timedOut { return condition(all) }
        }
        return true
    }

    /// Waits until an event has been added this many times. Returns false after `Deadline.patience` seconds.
    package func wait(for event: String, times: Int = 1) -> Bool {
        wait { events in events.count { $0 == event } >= times }
    }
}
