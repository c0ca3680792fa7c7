internal import Platform
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The sending task. Runs on the client thread, which runs the sessions of all adapters of the program.
extension SuiteSession {
    /// The maximum number of conflicts of one write. Each conflict means that another program has changed the value.
    static let maxConflicts = 1000

    private enum Step {
        /// Send the first write of the queue. It is the next write, or after a conflict the same write with a new
        /// change.
        case next
        /// Send the same write again after a pause.
        case pause(SendDelay)
    }

    /// Sends the writes of the queue until the queue is empty. After the release of the adapter, stops at the first
    /// write that has to wait.
    func sendQueue() async {
        while true {
            let nextNumber = state.withLock { state in
                state.sending.beginQueueRead()
                return state.sending.nextNumber
            }
            // A write gets its number before it is added to the outbox. If the outbox does not contain the write with
            // the next number yet, the thread that adds it wakes this task.
            guard let write = outbox.withLock({ $0.first }), write.number == nextNumber else {
                if state.withLock({ $0.sending.endTask() }) { return }
                continue
            }
            // While the session loads the suite, this write may have to wait until the load ends.
            if let loadEnd = state.withLock({ $0.sending.hold(ofWrite: nextNumber) }) {
                _ = await loadEnd.value()
                continue
            }
            guard case .pause(let delay) = await send(write) else { continue }
            guard await pause(for: delay) else { return }
        }
    }

    private func send(_ write: QueuedWrite) async -> Step {
        state.withLock { $0.sending.beginAttempt() }
        let result: WriteResult
        do throws(BackendError) {
            result = .success(try await backend.write(write.change))
            recordAnswer(toWrite: true)
        } catch {
            if error.isFinal { recordAnswer(toWrite: true) }
            result = .failure(error)
        }
        switch SendOutcome(result, of: write.change) {
        case .done(let summary):
            await endConfirmedWrite(write, summary)
            return .next
        case .refused(let problem):
            endRefusedWrite(write, problem)
            return .next
        case .conflict(let problem, let current): return await resolveConflict(of: write, after: problem, current)
        case .waits(let delay): return .pause(delay)
        }
    }

    /// Waits before the next attempt, and informs the callers that must not wait longer. Returns false if the task ends
    /// because the adapter was released.
    private func pause(for delay: SendDelay) async -> Bool {
        typealias PauseStart = (
            pause: Promise<Void>, duration: Duration, stall: String?, flushes: [Promise<Result<Void, BackendError>>],
            waiters: [Promise<WriteResult>]
        )
        var generator = SystemRandomNumberGenerator()
        let start = state.withLock { state -> PauseStart? in
            guard !state.isClosed else { return nil }
            let duration = state.availability.recordFailure(
                isReachable: delay.isReachable, atLeast: delay.atLeast, at: options.clock.now, using: &generator)
            let pause = Promise<Void>()
            state.sending.pause = pause
            let flushes = state.sending.blockFirstWrite(because: delay.reason)
            if state.sending.needsAttempt { pause.fulfill(()) }
            return (
                pause, duration,
                delay.isReachable || delay.needsIntervention ? state.sending.stallReport(delay.reason) : nil, flushes,
                delay.needsIntervention || !state.mayAnswerInTime(options) ? state.sending.removeWaiters() : []
            )
        }
        guard let start else {
            stopTask(because: delay.reason)
            return false
        }
        for flush in start.flushes { flush.fulfill(.failure(.queued(delay.reason))) }
        for waiter in start.waiters { waiter.fulfill(.failure(.queued(delay.reason))) }
        if let stall = start.stall { report(.kept(stall), nil, .write) }
        await options.clock.wait(for: start.pause, until: options.clock.now + start.duration)
        let mayContinue = state.withLock { state in
            state.sending.pause = nil
            return !state.isClosed
        }
        if !mayContinue { stopTask(because: delay.reason) }
        return mayContinue
    }

    private func stopTask(because reason: String) {
        let waiters = state.withLock { $0.sending.stopTask() }
        for waiter in waiters { waiter.fulfill(.failure(.queued(reason))) }
    }

    private func endConfirmedWrite(_ write: QueuedWrite, _ summary: WriteSummary) async {
        let original = write.original
        // `removedKeys` is empty if the write removes no value, and nil if it removes all values. If the daemon has not
        // changed a removed key, its value is unknown: it may be a default of the schema.
        let leavesValuesUnknown = state.withLock { state in
            original.removedKeys?.isEmpty != true
                && state.replica.leavesValuesUnknown(summary, removalOf: original.removedKeys)
        }
        let isAwaited = state.withLock { $0.sending.isFirstWriteAwaited }
        if leavesValuesUnknown {
            // A waiting caller may read the value next, so the replica is updated before the caller continues. If the
            // update fails, the write is done all the same, and the next observation updates the replica.
            if isAwaited { _ = try? await catchUp() } else { refresh() }
        }
        end(write, .success(summary))
        startLoading()
    }

    private func endRefusedWrite(_ write: QueuedWrite, _ problem: Problem) {
        // The removal of values from a suite that does not exist has succeeded.
        if write.original.hasNothingToDo(after: problem) {
            let summary = WriteSummary(revision: .zero, changed: false, changes: [])
            return end(write, .success(summary))
        }
        end(write, .failure(problem))
    }

    /// Ends a write after its answer: updates the replica, removes the write from the queue, and informs waiting
    /// callers.
    private func end(_ write: QueuedWrite, _ result: Result<WriteSummary, Problem>) {
        let waiter = mutate { state in
            state.replica.endWrite(write.original, result)
            return state.sending.removeFirstWaiter()
        }
        outbox.withLock { $0.removeFirst() }
        // A caller of `flush()` may look for the issue next, so the issue is reported before the flush ends.
        if waiter == nil, case .failure(let problem) = result { reportRefusal(of: write.original, problem) }
        let flushes = state.withLock { $0.sending.endFirstWrite() }
        waiter?.fulfill(result.mapError { .refused($0) })
        for flush in flushes { flush.fulfill(.success(())) }
    }

    /// Replaces the change of a write after a conflict. Ends the write as refused if its merge plan has no change for
    /// the current value, if the validator does not allow the merged value, if the daemon refuses to return the current
    /// setting, if the write does not change exactly one key, or after ``maxConflicts`` conflicts.
    private func resolveConflict(of write: QueuedWrite, after problem: Problem, _ current: SettingState?) async -> Step
    {
        guard write.conflicts < Self.maxConflicts, let key = write.change.key else {
            endRefusedWrite(write, problem)
            return .next
        }
        do throws(BackendError) {
            let setting: SettingState?
            if let current {
                // Readers must get the current setting if the write is rolled back.
                change { $0.record(current, replacesKnownRevision: true) }
                setting = current
            } else {
                // The refusal of a write of a secret does not contain the current setting.
                setting = try await fetch(key)
            }
            guard let setting, let next = write.change.resolved(over: setting, requestKey: .unique()) else {
                endRefusedWrite(write, setting.map { write.change.explainingConflict(problem, with: $0) } ?? problem)
                return .next
            }
            if let merged = next.mergedValue(over: setting), !state.withLock({ $0.sending.validator })(merged) {
                let result = write.change.isMergeOfSecret ? "" : " \(merged)"
                let detail =
                    "the result\(result) of merging the change to \(key) with another program's change is not allowed"
                endRefusedWrite(write, Problem(.invalidValue, detail))
                return .next
            }
            do throws(FileError) {
                // The new change must be in the file before it is sent. Otherwise both changes could be carried out
                // after a crash.
                try outbox.withLock { store throws(FileError) in try store.replaceFirst(by: next) }
                return .next
            } catch {
                return .pause(SendDelay(reason: "\(error)", isReachable: true))
            }
        } catch {
            guard case .waits(let delay) = SendOutcome(.failure(error), of: write.change) else {
                endRefusedWrite(write, problem)
                return .next
            }
            return .pause(delay)
        }
    }

    /// Reports the refusal of a write that no caller waits for. Does not report a set-if-absent write that found a
    /// value, because such a write has nothing to do.
    private func reportRefusal(of write: PendingChange, _ problem: Problem) {
        if case .keepStoredValue = write.onConflict, problem.code == .preconditionFailed { return }
        report(.refused(Refusal(write.namingChangedKeys(in: problem))), write.key, .write)
    }
}

extension ReplicaState {
    /// Records the current settings that a refusal contains. Ignores a setting whose value the daemon has concealed,
    /// because the value is secret.
    mutating func recordSettings(in problem: Problem) {
        for failed in problem.failed {
            if case .setting(let current) = failed.current, !current.isConcealed {
                record(current, replacesKnownRevision: true)
            }
        }
    }

    /// Acknowledges or rolls back a write.
    fileprivate mutating func endWrite(_ write: PendingChange, _ result: Result<WriteSummary, Problem>) {
        switch (write.action, result) {
        case (.removeAll, .success(let summary)): endRemovalOfAll(write.requestKey, summary)
        case (.transaction, .success(let summary)): acknowledge(write.requestKey, write.operations, summary)
        case (.removeAll, .failure(let problem)):
            recordSettings(in: problem)
            endRemovalOfAll(write.requestKey, nil)
        case (.transaction, .failure(let problem)):
            recordSettings(in: problem)
            rollBack(write.requestKey, write.operations)
        }
    }
}
