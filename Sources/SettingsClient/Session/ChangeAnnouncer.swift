internal import Dispatch
internal import Synchronization

/// Announces changes of values to Swift's Observation.
///
/// Observation tracks the values that a function has read only after the function has returned. If a value changes
/// between the read and the return, the function misses the announcement. Therefore each change is announced again 0.5
/// to 1 second later. The second announcement reaches only functions that have read the old value, because the new
/// value has another tracker (``ValueTracker``).
final class ChangeAnnouncer: Sendable {
    static let shared = ChangeAnnouncer()

    private struct State {
        /// The trackers of the changes since the last round. The next round moves the trackers to `older`.
        var recent: [ValueTracker] = []
        /// The trackers of earlier changes. The next round announces these changes a second time.
        var older: [ValueTracker] = []
        var isRoundScheduled = false
    }

    private let state = Mutex(State())
    /// The queue that makes the announcements, except the first announcement of a change that is announced on the
    /// calling thread.
    private let queue = DispatchQueue(label: "changes for Observation")
    /// The time between two rounds. A round announces the changes in `older`, and moves the trackers in `recent` there.
    private static let roundInterval = Duration.milliseconds(500)
    /// The maximum number of recent trackers. If there are more, the older trackers are announced before the next
    /// round, to limit the memory.
    private static let maxRecentTrackers = 2048

    /// Announces that values have changed.
    ///
    /// - Parameter onCallingThread: true to call the functions that track the values before this method returns. False
    ///   to call them on a queue.
    func announce(_ trackers: [ValueTracker], onCallingThread: Bool) {
        guard !trackers.isEmpty else { return }
        if onCallingThread { Self.announce(trackers) } else { queue.async { Self.announce(trackers) } }
        let (overdue, mustSchedule) = state.withLock { state in
            state.recent += trackers
            var overdue: [ValueTracker] = []
            if state.recent.count > Self.maxRecentTrackers {
                overdue = state.older
                state.older = state.recent
                state.recent = []
            }
            defer { state.isRoundScheduled = true }
            return (overdue, !state.isRoundScheduled)
        }
        if !overdue.isEmpty { queue.async { Self.announce(overdue) } }
        if mustSchedule { scheduleRound() }
    }

    /// Calls a function when all earlier changes have been announced for the first time. If no change waits for its
    /// second announcement, calls the function at once, because the first announcements are then over, too.
    func afterAnnouncements(_ body: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { $0.recent.isEmpty && $0.older.isEmpty }
        if isIdle { body() } else { queue.async(execute: body) }
    }

    private func scheduleRound() {
        ClientThread.shared.schedule(at: .now + Self.roundInterval) { self.queue.async { self.runRound() } }
    }

    private func runRound() {
        let (due, mustSchedule) = state.withLock { state in
            let due = state.older
            (state.older, state.recent) = (state.recent, [])
            state.isRoundScheduled = !state.older.isEmpty
            return (due, state.isRoundScheduled)
        }
        Self.announce(due)
        if mustSchedule { scheduleRound() }
    }

    private static func announce(_ trackers: [ValueTracker]) {
        for tracker in trackers { tracker.announceChange() }
    }
}
