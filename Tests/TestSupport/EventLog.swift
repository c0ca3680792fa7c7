internal import Dispatch
internal import Synchronization

/// What has happened, in order, from whatever thread; a test waits until it has what it waits for.
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

    /// False if nothing more happens for as long as tests are patient.
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
