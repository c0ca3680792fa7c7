internal import Dispatch
internal import Synchronization

/// Announces changes of values to Swift's Observation.
///
/// A function that reads a value begins to track the value only when the function returns. If the value changes between the
/// read and the return, the announcement comes too early. So each change is announced again a moment later. The second
/// announcement reaches only functions that read the old value, because the new value has another tracker.
final class ChangeAnnouncer: Sendable {
    static let shared = ChangeAnnouncer()

    private struct State {
        /// The trackers of changes since the last round.
        var recent: [ValueTracker] = []
        /// The trackers of earlier changes. The next round announces them again.
        var older: [ValueTracker] = []
        var isRoundPlanned = false
    }

    private let state = Mutex(State())
    /// The queue on which code of the program runs, unless the program has made the change itself.
    private let queue = DispatchQueue(label: "changes for Observation")
    private static let interval = Duration.milliseconds(500)
    /// If more changes wait for the second announcement, the older half is announced at once, to bound the memory.
    private static let mostWaiting = 2048

    /// Announces that values have changed.
    ///
    /// - Parameter isOwnChange: true if the calling thread belongs to the program, which has made the change. Its functions are
    ///   then called before this returns.
    func announce(_ trackers: [ValueTracker], isOwnChange: Bool) {
        guard !trackers.isEmpty else { return }
        if isOwnChange { Self.announce(trackers) } else { queue.async { Self.announce(trackers) } }
        let (overdue, mustPlan) = state.withLock { state in
            state.recent += trackers
            var overdue: [ValueTracker] = []
            if state.recent.count > Self.mostWaiting {
                overdue = state.older
                state.older = state.recent
                state.recent = []
            }
            defer { state.isRoundPlanned = true }
            return (overdue, !state.isRoundPlanned)
        }
        if !overdue.isEmpty { queue.async { Self.announce(overdue) } }
        if mustPlan { planRound() }
    }

    private func planRound() {
        ClientThread.shared.schedule(at: .now + Self.interval) { self.queue.async { self.runRound() } }
    }

    private func runRound() {
        let (due, mustPlan) = state.withLock { state in
            let due = state.older
            (state.older, state.recent) = (state.recent, [])
            state.isRoundPlanned = !state.older.isEmpty
            return (due, state.isRoundPlanned)
        }
        Self.announce(due)
        if mustPlan { planRound() }
    }

    private static func announce(_ trackers: [ValueTracker]) {
        for tracker in trackers { tracker.announceChange() }
    }
}
