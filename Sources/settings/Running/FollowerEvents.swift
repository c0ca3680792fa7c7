import Platform
import Synchronization

/// An event that the task with the ``VariableFollower`` reports.
enum FollowerEvent {
    /// The daemon has a new state, which has these variables. They may be equal to the variables of the state before.
    case variables(ProgramVariables)
    /// The settings of the newest state cannot become variables, or the daemon refuses to send the state.
    case failure(ToolError)
    /// The daemon does not answer. The task tries until the daemon answers.
    case outage(ToolError)
}

/// The queue of events from the task with the ``VariableFollower`` to the thread that runs the program. Thread-safe.
final class FollowerEvents: Sendable {
    private let events = Mutex<[FollowerEvent]>([])
    private let waker: Waker

    init() throws(SystemError) {
        waker = try Waker()
    }

    /// The descriptor that becomes readable when an event is appended. Owned by the queue.
    var descriptor: Int32 { waker.descriptor }

    func append(_ event: FollowerEvent) {
        events.withLock { $0.append(event) }
        waker.wake()
    }

    /// Removes and returns all events.
    func removeAll() -> [FollowerEvent] {
        // Reset the descriptor before the queue is emptied: a later event then makes the descriptor readable again.
        waker.reset()
        return events.withLock { events in
            defer { events = [] }
            return events
        }
    }
}
