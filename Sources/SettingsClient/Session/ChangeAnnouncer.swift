internal import Dispatch
internal import Synchronization

/// Announces changes of values to Swift's Observation.
///
/// Observation begins to track the values that a function has read when the function returns. If a value changes
/// between the read and the return, the function misses the announcement. So each change is announced a second time 0.5
/// to 1 seconds later. The second announcement reaches only functions that have read the old value, because the new
/// value has another tracker.
final class ChangeAnnouncer: Sendable {
    static let shared = ChangeAnnouncer()

    private struct State {
        /// The trackers of the changes since the last round. A round announces earlier changes a second time.
        var recent: [ValueTracker] = []
        /// The trackers of earlier changes. The next round announces them a second time.
        var older: [ValueTracker] = []
        var isRoundScheduled = false
    }

    private let state = Mutex(State())
    /// The queue that announces changes. Only local changes are announced on the thread of the setter.
    private let queue = DispatchQueue(label: "changes for Observation")
    private static let interval = Duration.milliseconds(500)
    /// The maximum number of recent trackers. If there are more, the older trackers are announced before the next
    /// round. This limits the memory.
    private static let maxWaiting = 2048

    /// Announces that values have changed.
    ///
    /// - Parameter isLocalChange: true if this program has made the change on the calling thread. The functions that
    ///   track the values are then called before this method returns. For a remote change, they are called on a queue.
    func announce(_ trackers: [ValueTracker], isLocalChange: Bool) {
        guard !trackers.isEmpty else { return }
        if isLocalChange { Self.announce(trackers) } else { queue.async { Self.announce(trackers) } }
        let (overdue, mustSchedule) = state.withLock { state in
            state.recent += trackers
            var overdue: [ValueTracker] = []
            if state.recent.count > Self.maxWaiting {
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

    /// Calls a function when the functions that track values have been called for all earlier changes. Calls it at once
    /// if no change waits for its second announcement.
    func afterAnnouncements(_ body: @escaping @Sendable () -> Void) {
        let isIdle = state.withLock { $0.recent.isEmpty && $0.older.isEmpty }
        if isIdle { body() } else { queue.async(execute: body) }
    }

    private func scheduleRound() {
        ClientThread.shared.schedule(at: .now + Self.interval) { self.queue.async { self.runRound() } }
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
