import Platform
import Synchronization

/// An event of the task that follows the daemon.
enum FollowerEvent {
    /// The daemon has a new state.
    case variables(ProgramVariables)
    /// The newest state cannot become variables, or the daemon refuses to send it.
    case failure(ToolError)
    /// The daemon does not answer. The task tries again.
    case outage(ToolError)
}

/// The queue of events from the task that follows the daemon to the thread that runs the program. Thread-safe.
final class FollowerEvents: Sendable {
    private let events = Mutex<[FollowerEvent]>([])
    private let waker: Waker

    init() throws(SystemError) {
        waker = try Waker()
    }

    /// The descriptor that is readable while the queue contains events. Owned by the queue.
    var descriptor: Int32 { waker.descriptor }

    func append(_ event: FollowerEvent) {
        events.withLock { $0.append(event) }
        waker.wake()
    }

    func removeAll() -> [FollowerEvent] {
        waker.reset()
        return events.withLock { events in
            defer { events = [] }
            return events
        }
    }
}
