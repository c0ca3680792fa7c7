internal import Dispatch
package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// Carries out the pending actions (reverts and scheduled writes) at their deadlines.
///
/// The runner queues a write for each action that is due. The decide stage, which checks each write and computes its
/// commit, decides that write like the write of a client. The stage makes no commit if the action has ended or has
/// another deadline. Otherwise one commit makes the changes of the action, and also ends the action or moves the action
/// to its next deadline. Therefore a scheduled write, and the revert that may follow the write, are each carried out
/// exactly once, even if several daemons share a commit log and each daemon queues the write.
///
/// A `confirm` action reverts a commit unless a client confirms the commit before the deadline. The runner measures
/// this deadline with the monotonic clock, from the publication of the commit that set the deadline. The runner
/// compares other deadlines with the wall clock, at least once a second, because the wall clock may be set. After a
/// restart, the wall clock also determines the remaining time of a `confirm` action.
///
/// Thread-safe. A mutex protects the contents. The deadlines thread, which is the serial queue of the runner, checks
/// the deadlines and handles the results.
package final class PendingActionRunner: Sendable {
    /// Receives a commit that carried out an action or recorded a refusal, and a description of the result for the log.
    package typealias CommitHandler = @Sendable (_ commit: RetainedCommit, _ description: String) -> Void

    /// The counts of the results of this daemon's attempts to carry out actions.
    package struct Counts: Sendable {
        /// The reverts, and the scheduled writes that were not refused.
        package var carriedOut = 0
        /// The scheduled writes that were refused when they were due.
        package var refused = 0
        /// The attempts that failed because the commit could not be made durable. The runner repeats these attempts.
        package var failedAttempts = 0

        package init() {}
    }

    fileprivate struct Contents {
        /// For each `confirm` action, the monotonic time at which it is due, and the deadline (a time of the wall
        /// clock) for which the runner computed this time.
        var confirmations: [PendingID: (deadline: Timestamp, dueTime: UInt64)] = [:]
        /// The actions whose write has no result yet, with the deadline for which the write was queued.
        var queued: [PendingID: Timestamp] = [:]
        /// The monotonic time before which no write is queued, because the last write failed.
        var retryTime: UInt64 = 0
        var counts = Counts()
        var isStopped = false
        /// True if a check for new or changed actions is queued.
        var isCheckQueued = false
    }

    /// The maximum nanoseconds between two comparisons of a deadline with the wall clock.
    private static let maximumWait: UInt64 = 1_000_000_000
    /// The nanoseconds after a failed write during which no write is queued.
    private static let retryInterval: UInt64 = 1_000_000_000

    private let store: Store
    private let makePastReader: (@Sendable (State) -> any PastReading)?
    private let log: Log
    private let monotonic: MonotonicClock
    private let clock: @Sendable () -> Timestamp
    private let onCommit: CommitHandler
    private let queue = DispatchQueue(label: "settingsd.deadlines", qos: .userInitiated)
    private let contents = Mutex(Contents())
    /// The writes without a result.
    private let writes = DispatchGroup()
    private let timer: DeadlineTimer

    /// - Parameters:
    ///   - past: makes a reader of past files, which a scheduled undo or restore may need; nil without past files.
    ///   - onCommit: called on the deadlines thread, with each commit that carried out an action or recorded the
    ///     refusal of a scheduled write.
    package init(
        _ store: Store, past: (@Sendable (State) -> any PastReading)? = nil, log: Log,
        monotonic: MonotonicClock = .system, clock: @escaping @Sendable () -> Timestamp,
        onCommit: @escaping CommitHandler = { _, _ in }
    ) {
        (self.store, makePastReader, self.log, self.monotonic) = (store, past, log, monotonic)
        (self.clock, self.onCommit) = (clock, onCommit)
        timer = DeadlineTimer(on: queue)
    }

    package var counts: Counts { contents.withLock { $0.counts } }

    /// Carries out the actions whose deadlines passed while the daemon was not running, and waits for the results, at
    /// most `seconds`. Then carries out each action at its deadline.
    package func start(waitingAtMostSeconds seconds: Int) {
        timer.setHandler { [weak self] in self?.check() }
        queue.sync { check(isStart: true) }
        if writes.wait(timeout: .now() + .seconds(seconds)) == .timedOut {
            log.warning(
                "pending actions that are due were not carried out within \(seconds) s; the daemon "
                    + "starts to serve requests, and carries them out later")
        }
        store.setPendingListener(self)
        // A commit may have changed the pending actions before the runner became a listener.
        queue.async { self.check() }
    }

    /// Waits for the checks and results that are queued, for tests.
    func awaitCheck() { queue.sync {} }

    package func stop() {
        store.setPendingListener(nil)
        contents.withLock { $0.isStopped = true }
        timer.stop()
    }
}

extension PendingActionRunner: PublicationListener {
    package func published() {
        // Several publications before the next check need only one check.
        let isFirst = contents.withLock { contents in
            defer { contents.isCheckQueued = true }
            return !contents.isCheckQueued
        }
        guard isFirst else { return }
        queue.async {
            self.contents.withLock { $0.isCheckQueued = false }
            self.check()
        }
    }
}

// Runs on the deadlines thread.
extension PendingActionRunner {
    /// Queues a write for each action that is due, and sets the timer for the next deadline.
    ///
    /// - Parameter isStart: true if the actions were created before the start of the daemon.
    private func check(isStart: Bool = false) {
        let state = store.state
        let due = contents.withLock { contents -> [PendingEntry] in
            guard !contents.isStopped else { return [] }
            let now = monotonic.now()
            guard state.hasPendingActions else {
                contents.confirmations = [:]
                timer.schedule(nil)
                return []
            }
            let time = clock()
            var next = UInt64.max
            var due: [PendingEntry] = []
            var confirmations: [PendingID: (deadline: Timestamp, dueTime: UInt64)] = [:]
            for entry in state.pending.all {
                let action = entry.action
                let dueTime: UInt64
                if action.kind == .confirm {
                    dueTime = contents.dueTime(of: action, now: now, time: time, isStart: isStart)
                    confirmations[action.id] = (action.deadline, dueTime)
                } else {
                    dueTime = now + Self.nanoseconds(from: time, to: action.deadline)
                }
                if dueTime > now {
                    next = min(next, action.kind == .confirm ? dueTime : min(dueTime, now + Self.maximumWait))
                } else if contents.queued[action.id] != action.deadline {
                    due.append(entry)
                }
            }
            contents.confirmations = confirmations
            if !due.isEmpty, now < contents.retryTime {
                next = min(next, contents.retryTime)
                due = []
            }
            for entry in due { contents.queued[entry.action.id] = entry.action.deadline }
            timer.schedule(next == .max ? nil : next - now)
            return due
        }
        guard !due.isEmpty else { return }
        let pendingWrites = due.byDeadline.map { makeWrite(for: $0, on: state) }
        for _ in pendingWrites { writes.enter() }
        handle(store.enqueue(pendingWrites))
    }

    private func makeWrite(for entry: PendingEntry, on state: State) -> PendingWrite {
        let action = entry.action
        var request = WriteRequest(.carryOut(action.id, deadline: action.deadline))
        request.size = entry.size
        if let makePastReader, let command = action.write?.command, state.mayNeedPastFiles(for: command) {
            var scheduled = WriteRequest(command)
            do throws(Problem) {
                try makePastReader(state).readPast(for: &scheduled)
                request.pastFileData = scheduled.pastFileData
            } catch {
                // The write is decided without the data from the files. The result is a refusal, which its commit
                // records.
                log.debug("cannot read past files for pending action \(action.id): \(error.detail)")
            }
        }
        // The limit stops the estimation. `WriteQueue` delays a costly write by 20 times its estimate, at most by
        // `WriteLimits.maximumYield` (1 s). Therefore all estimates above 50,000 microseconds cause the same delay.
        let estimate = state.cost(of: request, within: Cost(microseconds: 65_536, bytes: .max))
        let time = PendingWrite.minimumTime + UInt64(estimate.cost.microseconds * 1000)
        // The revision in `high` identifies the action, so `low` is unused.
        return store.makeWrite(
            WriteID(high: UInt64(action.id.revision.number), low: 0), request, for: self, estimatedTime: time)
    }

    private func handle(_ results: [WriteResult]) {
        guard !results.isEmpty else { return }
        for result in results { handle(result) }
        // The check may queue further writes. The check runs before `leave()`, so that `start` also waits for these
        // writes.
        check()
        for _ in results { writes.leave() }
    }

    private func handle(_ result: WriteResult) {
        guard let revision = Revision(Int64(clamping: result.id.high)) else { return }
        let id = PendingID(revision)
        contents.withLock { _ = $0.queued.removeValue(forKey: id) }
        switch result.answer {
        case .failure(let problem):
            contents.withLock { contents in
                contents.counts.failedAttempts += 1
                contents.retryTime = monotonic.now() + Self.retryInterval
            }
            log.warning("cannot carry out pending action \(id): \(problem.detail); the daemon tries again")
        case .success:
            // There is no commit if the action had ended, if its deadline had changed, or if another daemon had carried
            // out the action.
            guard let commit = result.commit, let event = commit.commit.pending.first(where: { $0.action.id == id })
            else {
                return
            }
            let text = event.resultText(at: commit.revision)
            if event.end?.outcome == .refused {
                contents.withLock { $0.counts.refused += 1 }
                log.warning(text)
            } else {
                contents.withLock { $0.counts.carriedOut += 1 }
                log.info(text)
            }
            onCommit(commit, text)
        }
    }

    private static func nanoseconds(from time: Timestamp, to deadline: Timestamp) -> UInt64 {
        UInt64(max(0, deadline.milliseconds - time.milliseconds)) * 1_000_000
    }
}

extension PendingActionRunner: WriteReceiver {
    package func deliver(_ results: [WriteResult]) {
        queue.async { self.handle(results) }
    }
}

extension PendingActionRunner.Contents {
    /// Returns the monotonic time at which a `confirm` action is due.
    fileprivate func dueTime(of action: PendingAction, now: UInt64, time: Timestamp, isStart: Bool) -> UInt64 {
        if let known = confirmations[action.id], known.deadline == action.deadline { return known.dueTime }
        // The minimum limits the remaining time if the wall clock was set back while the daemon was not running.
        let remaining =
            isStart ? min(action.period, action.deadline.milliseconds - time.milliseconds) : action.period
        return now + UInt64(max(0, remaining)) * 1_000_000
    }
}

extension PendingEvent {
    /// The result of carrying out the action, for the log.
    fileprivate func resultText(at revision: Revision) -> String {
        let subject = "pending action \(action.id)"
        guard let end else {
            return "\(subject) was carried out: its write is commit \(revision), which a deadline reverts"
        }
        switch end.outcome {
        case .refused: return "\(subject) was refused: \(end.refusal?.detail ?? "unknown reason")"
        case .reverted:
            let exceptions = end.kept.isEmpty ? "" : "; \(end.kept.count) of its settings and schemas were not restored"
            return
                "\(subject) was carried out: commit \(revision) reverted commit \(action.commit ?? .zero)\(exceptions)"
        default: return "\(subject) was carried out at revision \(revision)"
        }
    }
}

/// A timer that fires once at a time that may be changed.
///
/// Thread-safe. `@unchecked Sendable` is safe, because the only property is a dispatch source, whose methods any thread
/// may call.
private final class DeadlineTimer: @unchecked Sendable {
    private let source: any DispatchSourceTimer

    init(on queue: DispatchQueue) {
        source = DispatchSource.makeTimerSource(queue: queue)
    }

    /// Sets the handler, and activates the timer. Must be called once.
    func setHandler(_ body: @escaping @Sendable () -> Void) {
        source.setEventHandler(handler: body)
        source.schedule(deadline: .distantFuture)
        source.activate()
    }

    /// Makes the timer fire after a number of nanoseconds; nil to stop the timer until the next call.
    func schedule(_ nanoseconds: UInt64?) {
        guard let nanoseconds else { return source.schedule(deadline: .distantFuture) }
        source.schedule(deadline: .now() + .nanoseconds(Int(clamping: nanoseconds)), leeway: .milliseconds(1))
    }

    func stop() { source.cancel() }
}
