internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The part of a session's state that says which state of the suite the program has applied.
///
/// The program has applied a state when its handlers have returned: the handlers of observers, the functions that track
/// values with Swift's Observation, and the loops over updates, which have to take each update but not to end its
/// iteration. While the handlers of a state run, later states wait: the session then applies the newest of them.
struct ApplyingState: Sendable {
    /// The state whose handlers are running.
    private(set) var running: (cursor: Cursor, handlers: HandlerGroup)?
    private var applied: Cursor?
    /// The newest state of the replica that differs from its predecessor.
    private var lastChange: Cursor?
    /// The state that the program had applied before ``lastChange``.
    private var predecessor: Cursor?
    /// The report of the failure. Nil if the program has not failed.
    private var failure: ClientReport?

    /// Begins to apply the newest state, unless the handlers of another state are running.
    ///
    /// - Parameter handlers: the group that is empty when all handlers of the state have returned.
    mutating func begin(_ cursor: Cursor, _ handlers: HandlerGroup) -> Bool {
        guard running == nil else { return false }
        running = (cursor, handlers)
        return true
    }

    mutating func recordChange(at cursor: Cursor?) {
        lastChange = cursor
    }

    /// Records that the running handlers have returned. A failure ends if the state has a change after the failed state.
    mutating func end() {
        guard let cursor = running?.cursor else { return }
        running = nil
        if let lastChange, !cursor.precedes(lastChange), applied?.precedes(lastChange) ?? true {
            predecessor = report.applied
            if failure?.failed?.precedes(lastChange) ?? false { failure = nil }
        }
        applied = cursor
    }

    /// Records that the program could not apply the state whose handlers are running, or the newest state whose handlers
    /// have returned. Returns false if there is no state.
    mutating func fail(_ reason: String) -> Bool {
        guard let handled = running?.cursor ?? applied, let lastChange else { return false }
        let failed = handled.precedes(lastChange) ? handled : lastChange
        // A report that the failed state is applied would end the failure.
        let before = [failure?.applied, applied, predecessor].compactMap { $0 }
            .first { $0.epoch == failed.epoch && $0.precedes(failed) }
        failure = ClientReport(
            applied: before ?? Cursor(epoch: failed.epoch, revision: .zero), failed: failed, shortening: reason)
        return true
    }

    func isApplied(_ cursor: Cursor?) -> Bool { applied == cursor }

    var report: ClientReport { failure ?? ClientReport(applied: applied) }
}

extension Cursor {
    /// True if the other cursor is a later position. A cursor of another history counts as earlier than the cursor of
    /// the present history, which is the parameter.
    func precedes(_ other: Cursor) -> Bool {
        epoch != other.epoch || revision < other.revision
    }
}

/// Calls a function when all handlers of a state have returned.
final class HandlerGroup: Sendable {
    private let count: Atomic<Int>
    private let onEnd: @Sendable () -> Void

    /// - Parameter count: the number of calls of ``leave()`` that need no call of ``enter()``.
    init(count: Int, onEnd: @escaping @Sendable () -> Void) {
        self.count = Atomic(count)
        self.onEnd = onEnd
    }

    /// Called before the group is empty.
    func enter() {
        count.wrappingAdd(1, ordering: .relaxed)
    }

    func leave() {
        if count.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { onEnd() }
    }
}

extension SuiteSession {
    var runningHandlers: HandlerGroup? { state.withLock { $0.applying.running?.handlers } }

    /// Changes the replica, and reports the state to the daemon when the handlers of the change have returned.
    ///
    /// - Parameter body: returns true if the new state of the replica may differ from its predecessor.
    func trackHandlers(_ body: (inout ReplicaState) -> Bool = { _ in false }) {
        // The observers of the adapter leave the group, and the announcements to Swift's Observation.
        let handlers = HandlerGroup(count: 2) { [weak self] in self?.finishHandlers() }
        let hasBegun = mutate { state in
            if body(&state.replica) { state.applying.recordChange(at: state.replica.cursor) }
            guard let cursor = state.replica.cursor, !state.listeners.isEmpty,
                state.applying.begin(cursor, handlers)
            else { return false }
            state.replica.events.append(.reached)
            return true
        }
        if hasBegun { ChangeAnnouncer.shared.afterAnnouncements { handlers.leave() } }
    }

    private func finishHandlers() {
        let hasNewerState = state.withLock { state in
            state.applying.end()
            return !state.applying.isApplied(state.replica.cursor)
        }
        sendReport()
        if hasNewerState { trackHandlers() }
    }

    func reportFailure(_ reason: String) {
        if state.withLock({ $0.applying.fail(reason) }) { sendReport() }
    }

    private func sendReport() {
        var sent: ClientReport?
        while true {
            let (report, subscription) = state.withLock { ($0.applying.report, $0.loading.subscription) }
            // Another thread may have sent a newer report before this thread sent its report.
            guard report != sent else { return }
            subscription?.report(report)
            sent = report
        }
    }
}
