internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// Tracks which state of the suite the program has applied, because the program reports this state to the daemon. A
/// state machine without I/O.
///
/// The *handlers* of a state are the handlers of observers, the functions that track values with Swift's Observation,
/// and the loops over updates. The program has applied a state when all its handlers have returned and all loops have
/// taken their updates. A loop may still be in the iteration of its last update.
///
/// The session tracks the handlers of one state at a time. If several states arrive before these handlers have
/// returned, the session then tracks and reports only the newest state.
struct ApplyingState: Sendable {
    /// The state whose handlers are running.
    private(set) var running: (cursor: Cursor, handlers: HandlerGroup)?
    /// The state that the program has applied last.
    private var applied: Cursor?
    /// The newest cursor at which the contents of the replica changed. Commits to other suites advance the cursor of
    /// the replica without a change of its contents.
    private var lastChange: Cursor?
    /// The state that the program had applied before it applied ``lastChange``.
    private var appliedBeforeLastChange: Cursor?
    /// The report that the program could not apply a state. Nil if there was no failure, or after the program has
    /// applied a later change.
    private var failure: ClientReport?

    /// Records that the handlers of the newest state begin. Returns false if the handlers of another state are running.
    ///
    /// - Parameter handlers: the group that is empty when all handlers of the state have returned.
    mutating func beginHandlers(of cursor: Cursor, _ handlers: HandlerGroup) -> Bool {
        guard running == nil else { return false }
        running = (cursor, handlers)
        return true
    }

    /// Records that the contents of the replica may have changed.
    mutating func recordChange(at cursor: Cursor?) {
        lastChange = cursor
    }

    /// Records that the running handlers have returned. A failure ends if their state contains a change after the
    /// failed state.
    mutating func endHandlers() {
        guard let cursor = running?.cursor else { return }
        running = nil
        if let lastChange, !cursor.precedes(lastChange), applied?.precedes(lastChange) ?? true {
            appliedBeforeLastChange = report.applied
            if failure?.failed?.precedes(lastChange) ?? false { failure = nil }
        }
        applied = cursor
    }

    /// Records that the program could not apply the state whose handlers are running or, if no handlers are running,
    /// the last applied state. Returns false if there is no such state, or if no change of the replica was recorded
    /// before.
    mutating func recordFailure(_ reason: String) -> Bool {
        guard let handled = running?.cursor ?? applied, let lastChange else { return false }
        let failed = handled.precedes(lastChange) ? handled : lastChange
        // The daemon ends a failure when a report contains the failed state as applied, so the report contains an
        // earlier state.
        let appliedBeforeFailure = [failure?.applied, applied, appliedBeforeLastChange].compactMap { $0 }
            .first { $0.epoch == failed.epoch && $0.precedes(failed) }
        failure = ClientReport(
            applied: appliedBeforeFailure ?? Cursor(epoch: failed.epoch, revision: .zero), failed: failed,
            shortening: reason)
        return true
    }

    func isApplied(_ cursor: Cursor?) -> Bool { applied == cursor }

    var report: ClientReport { failure ?? ClientReport(applied: applied) }
}

extension Cursor {
    /// Returns true if this cursor is earlier than a cursor of the present history. Every cursor of another history
    /// counts as earlier.
    func precedes(_ present: Cursor) -> Bool {
        epoch != present.epoch || revision < present.revision
    }
}

/// Counts the handlers of a state that have not returned, and calls a function when there are none left. Thread-safe.
final class HandlerGroup: Sendable {
    private let count: Atomic<Int>
    private let onEnd: @Sendable () -> Void

    /// - Parameters:
    ///   - count: the number of initial members. Each of them must call ``leave()``.
    ///   - onEnd: called once, on the thread of the last call of ``leave()``.
    init(count: Int, onEnd: @escaping @Sendable () -> Void) {
        self.count = Atomic(count)
        self.onEnd = onEnd
    }

    /// Adds a member, which must call ``leave()``. Must not be called after the group was empty.
    func enter() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    func leave() {
        if count.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { onEnd() }
    }
}

extension SuiteSession {
    /// The group of the handlers that are running. Nil if no handlers are running.
    var runningHandlers: HandlerGroup? { state.withLock { $0.applying.running?.handlers } }

    /// Changes the replica, and reports its state to the daemon when the handlers of the state have returned. If
    /// handlers of an earlier state are running, the report waits until they have returned, too.
    ///
    /// The `ObserverTable` of the adapter listens to the session. Without a listener, no `ObserverTable` would
    /// leave the group of handlers, so the session does not record the state as applied.
    ///
    /// - Parameter change: changes the replica. Returns true if the contents of the replica may have changed.
    func trackHandlers(of change: (inout ReplicaState) -> Bool = { _ in false }) {
        // The group has two initial members: the `ObserverTable`, and the announcements to Swift's Observation.
        let handlers = HandlerGroup(count: 2) { [weak self] in self?.finishHandlers() }
        let hasBegun = mutate { state in
            if change(&state.replica) { state.applying.recordChange(at: state.replica.cursor) }
            guard let cursor = state.replica.cursor, !state.listeners.isEmpty,
                state.applying.beginHandlers(of: cursor, handlers)
            else { return false }
            state.replica.events.append(.endOfState)
            return true
        }
        if hasBegun { ChangeAnnouncer.shared.afterAnnouncements { handlers.leave() } }
    }

    private func finishHandlers() {
        let hasNewerState = state.withLock { state in
            state.applying.endHandlers()
            return !state.applying.isApplied(state.replica.cursor)
        }
        sendReport()
        if hasNewerState { trackHandlers() }
    }

    /// Reports to the daemon that the program could not apply the state whose handlers are running, or the last applied
    /// state.
    func reportFailure(_ reason: String) {
        if state.withLock({ $0.applying.recordFailure(reason) }) { sendReport() }
    }

    private func sendReport() {
        var sent: ClientReport?
        while true {
            let (report, subscription) = state.withLock { ($0.applying.report, $0.loading.subscription) }
            // If another thread has sent a newer report in the meantime, the older report of this thread has replaced
            // the newer report. So this thread sends the newest report again.
            guard report != sent else { return }
            subscription?.report(report)
            sent = report
        }
    }
}
