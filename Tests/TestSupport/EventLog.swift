internal import Dispatch
internal import Synchronization

/// A thread-safe log of events in order, for which a test can wait.
package final class EventLog: Sendable {
    private let events = Mutex<[String]>([])
    private let more = DispatchSemaphore(value: 0)

    package init() {}

    package var all: [String] { events.withLock { $0 } }

    package func add(_ event: String) {
        events.withLock { $0.append(event) }
        more.signal()
    }

    package func count(_ event: String) -> Int {
        all.count { $0 == event }
    }

    /// Waits until the events satisfy the condition. Returns false if no further event is added within
    /// `Deadline.patience`.
    package func wait(_ condition: ([String]) -> Bool) -> Bool {
        while !condition(all) {
            if more.wait(timeout: .now() + .seconds(Deadline.patience)) == .timedOut { return condition(all) }
        }
        return true
    }

    package func wait(for event: String, times: Int = 1) -> Bool {
        wait { events in events.count { $0 == event } >= times }
    }
}
