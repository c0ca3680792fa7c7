internal import Platform
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The result of a write: a summary, or the reason why there is none.
typealias WriteResult = Result<WriteSummary, BackendError>

/// Writes of the program.
///
/// The session applies a write to the replica and appends it to the queue and to the outbox file. The sending task
/// sends the writes of the queue one after the other, which keeps the order.
extension SuiteSession {
    /// Adds a write to the queue. The calling thread writes the outbox file.
    ///
    /// - Parameters:
    ///   - waiter: a promise that is fulfilled with the result.
    ///   - holdsLock: true if the caller holds the lock of changes in place (``ChangeLock``). The caller then announces
    ///     the change to Swift's Observation after it has released the lock.
    ///   - isAllowed: returns true if the key allows a value that the session has computed to resolve a conflict.
    func enqueue(
        _ change: PendingChange, waiter: Promise<WriteResult>? = nil, holdsLock: Bool = false,
        isAllowed: (@Sendable (JSONValue) -> Bool)? = nil
    ) throws(BackendError) {
        openOutbox()
        // A later write must not overtake a write without a number. The client thread cannot wait for the numbers,
        // because it assigns them. Therefore a write of the client thread may overtake.
        if hasWritesWithoutNumber, !ClientThread.shared.isCurrent { promiseOfNumbers().waitForever() }
        let number = try addToQueue(change, waiter, isAllowed)
        writeToOutbox(change, number)
        if !holdsLock { announceLocalChanges() }
    }

    /// True if writes of ``enqueueInBackground(_:waiter:waitsWithoutTimeout:)`` have no number yet.
    private var hasWritesWithoutNumber: Bool { state.withLock { $0.sending.unnumberedCount > 0 } }

    /// Returns a promise that is fulfilled when all previous writes have a number. The client thread gives the writes
    /// their numbers, and executes closures in the order of the calls of `execute`.
    private func promiseOfNumbers() -> Promise<Void> {
        let done = Promise<Void>()
        ClientThread.shared.execute { done.fulfill(()) }
        return done
    }

    /// Adds a write to the queue. The client thread writes the outbox file, so the calling thread never waits for a
    /// file operation.
    ///
    /// - Parameters:
    ///   - waiter: a promise that is fulfilled with the result.
    ///   - waitsWithoutTimeout: true if an outage must not fulfill the promise. The promise is then fulfilled with the
    ///     answer of the daemon, or when the program releases the adapter (the object of the program that uses this
    ///     session).
    func enqueueInBackground(
        _ change: PendingChange, waiter: Promise<WriteResult>, waitsWithoutTimeout: Bool = false
    ) throws(BackendError) {
        let mustWait = state.withLock { state in
            // Writes that earlier runs left in the outbox get the first numbers. Until the outbox is open, new writes
            // wait. A later write must not overtake a write that waits.
            if outboxOpening.value == nil || state.sending.unnumberedCount > 0 { state.sending.unnumberedCount += 1 }
            return state.sending.unnumberedCount > 0
        }
        guard mustWait else {
            let number = try addToQueue(change, waiter, waitsWithoutTimeout: waitsWithoutTimeout)
            ClientThread.shared.execute { self.writeToOutbox(change, number) }
            return announceLocalChanges()
        }
        ClientThread.shared.execute {
            do throws(BackendError) {
                self.writeToOutbox(
                    change, try self.addToQueue(change, waiter, waitsWithoutTimeout: waitsWithoutTimeout))
                self.announceLocalChanges()
            } catch {
                waiter.fulfill(.failure(error))
            }
            self.state.withLock { $0.sending.unnumberedCount -= 1 }
        }
    }

    /// Adds a write to the queue, and waits for the result without blocking a thread.
    nonisolated(nonsending) func commit(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        if Task.isCancelled { throw .cancelled }
        // The write is added to the queue before the first suspension, so the writes of an actor keep their order.
        let waiter = Promise<WriteResult>()
        try enqueueInBackground(change, waiter: waiter)
        return try await result(of: waiter)
    }

    /// Sends a write that does not use the queue, after the daemon has answered all earlier writes. When the method
    /// returns, the replica contains the result, unless the daemon stopped answering after the write.
    ///
    /// - Parameter catchesUp: true to read all changes after a refusal, because the changes of other programs may be
    ///   the cause of the refusal.
    nonisolated(nonsending) func sendAfterQueue(
        _ call: DirectRequest<WriteSummary>, catchesUp: Bool = false
    ) async throws(BackendError) -> WriteSummary {
        do {
            try await flush(until: deadline)
        } catch .queued(let reason) {
            // The caller must not get the error `queued`, which would say that this write waits in the outbox.
            throw .unreachable("an earlier write waits for the daemon: \(reason)", outcome: .notDone)
        }
        do throws(BackendError) {
            let summary = try await backend.send(call)
            if summary.changed { try? await synchronize(until: deadline) }
            return summary
        } catch {
            if catchesUp, case .refused = error { try? await catchUp() }
            throw error
        }
    }

    /// Sends a write that does not use the queue, without waiting for the queue. When the method returns, the replica
    /// contains the result, unless the daemon stopped answering after the write.
    nonisolated(nonsending) func sendWithoutQueue(
        _ call: DirectRequest<WriteSummary>
    ) async throws(BackendError) -> WriteSummary {
        let summary = try await backend.send(call)
        if summary.changed {
            try? await load(until: deadline)
            try? await catchUp()
        }
        return summary
    }

    /// Waits until the client thread has written all previous writes to the outbox file, even if the task is cancelled.
    private nonisolated(nonsending) func waitUntilStored() async {
        await withCheckedContinuation { continuation in ClientThread.shared.execute { continuation.resume() } }
    }

    /// Waits for the result of a write. If there is no result before the timeout, throws `queued`, and the write stays
    /// in the queue and in the outbox file.
    nonisolated(nonsending) func result(of waiter: Promise<WriteResult>) async throws(BackendError) -> WriteSummary {
        let result = await waitForResult(of: waiter)
        // The error `queued` says that the write is in the outbox. The sending task may fulfill the promise with this
        // error before the client thread has written the outbox file.
        if case .failure(.queued) = result { await waitUntilStored() }
        return try result.get()
    }

    private nonisolated(nonsending) func waitForResult(of waiter: Promise<WriteResult>) async -> WriteResult {
        if let result = mayAnswerInTime ? await waiter.value(until: deadline) : waiter.value { return result }
        let isRemoved = state.withLock { $0.sending.removeWaiter(waiter) }
        // If this call did not remove the waiter, the sending task has removed it and is about to fulfill the promise,
        // or the write has no number yet.
        if !isRemoved, !Task.isCancelled, let result = await waiter.value(until: .now + .seconds(1)) { return result }
        await waitUntilStored()
        // The write has its number now, so its waiter can be removed. If the daemon refuses the write later, the
        // session then reports an issue.
        if !isRemoved, !state.withLock({ $0.sending.removeWaiter(waiter) }), let result = waiter.value { return result }
        return .failure(
            Task.isCancelled ? .queued("the task was cancelled before the daemon answered the write") : queued)
    }

    /// Adds a write to the queue, and blocks the calling thread until there is a result or the deadline is over.
    func commitBlocking(
        _ change: PendingChange, until deadline: ContinuousClock.Instant, holdsLock: Bool = false,
        isAllowed: (@Sendable (JSONValue) -> Bool)? = nil
    ) throws(BackendError) -> WriteSummary {
        guard !ClientThread.shared.isCurrent else {
            // The client thread must not wait for the sending task, which runs on the same thread.
            try enqueue(change, holdsLock: holdsLock, isAllowed: isAllowed)
            throw queued
        }
        let waiter = Promise<WriteResult>()
        try enqueue(change, waiter: waiter, holdsLock: holdsLock, isAllowed: isAllowed)
        guard let result = mayAnswerInTime ? waiter.wait(until: deadline) : waiter.value else {
            let isRemoved = state.withLock { $0.sending.removeWaiter(waiter) }
            // If this call did not remove the waiter, the sending task has removed it and is about to fulfill the
            // promise.
            if !isRemoved, let result = waiter.wait(until: .now + .seconds(1)) { return try result.get() }
            throw queued
        }
        return try result.get()
    }

    /// False if an attempt to send the first write has failed, and the outage has lasted longer than the timeout of
    /// callers. A caller should then not wait.
    var mayAnswerInTime: Bool { state.withLock { $0.mayAnswerInTime(options) } }

    /// The error of a caller that does not wait any longer for the answer to a write.
    private var queued: BackendError {
        .queued(state.withLock { $0.sending.blockingReason } ?? "the daemon did not answer in time")
    }

    /// Gives a write a number, and applies the write to the replica.
    private func addToQueue(
        _ change: PendingChange, _ waiter: Promise<WriteResult>?, waitsWithoutTimeout: Bool = false,
        _ isAllowed: (@Sendable (JSONValue) -> Bool)? = nil
    ) throws(BackendError) -> Int64 {
        if let backend = backend as? NoBackend { throw backend.error }
        openOutbox()
        if let fullQueueMessage = outboxFillLevel.fullQueueMessage {
            throw .refused(Problem(.insufficientStorage, fullQueueMessage))
        }
        if state.withLock({ state in
            defer { state.sending.lacksDirectory = false }
            return state.sending.lacksDirectory
        }) {
            let reason =
                "neither XDG_STATE_HOME nor HOME names a directory, so writes do not survive the end of the program"
            report(.unusableFile(path: "outbox", reason: reason), nil, .write)
        }
        return mutate(isLocalChange: true) { state in
            let number = state.sending.addWrite(
                waiter: waiter, waitsWithoutTimeout: waitsWithoutTimeout, isAllowed: isAllowed)
            state.replica.beginWrite(change)
            return number
        }
    }

    /// Adds a write with a number to the outbox, and starts the sending task.
    private func writeToOutbox(_ change: PendingChange, _ number: Int64) {
        do throws(FileError) {
            try outbox.withLock { store throws(FileError) in try store.append(change, number: number) }
        } catch {
            let reason =
                "\(error.reason); if the program ends before the daemon has answered the write, the write is lost"
            report(.unusableFile(path: error.path, reason: reason), change.key, .write)
        }
        wakeSendingTask()
    }

    private func wakeSendingTask() {
        if state.withLock({ $0.sending.wakeTask() }) { startTask { await self.sendQueue() } }
    }

    /// True if the queue contains a write that the daemon has not answered.
    var hasUnansweredWrites: Bool { state.withLock { $0.sending.count > 0 } }

    /// Waits until the daemon has answered all writes that are in the queue now. Throws `queued` with the reason if an
    /// attempt to send a write fails, or if the deadline passes before the answers. Throws `cancelled` if the task is
    /// cancelled during the wait.
    nonisolated(nonsending) func flush(until deadline: ContinuousClock.Instant) async throws(BackendError) {
        await openOutboxInBackground()
        if hasWritesWithoutNumber { _ = await promiseOfNumbers().value() }
        guard let flush = beginFlush() else { return }
        guard let result = await flush.value(until: deadline) else { throw Task.isCancelled ? .cancelled : queued }
        try result.get()
    }

    /// Waits for the answer to the first write for at most half of the timeout, and holds the other writes until
    /// ``resumeSending()``. Returns false if the attempt to send the first write has failed. Returns true in all other
    /// cases, also if the first write has no answer after this time.
    ///
    /// The session loads the suite between the two calls. If the daemon carried out a write during the load, the loaded
    /// state could contain the effect of the write. The client would apply the pending write again, and readers would
    /// get the effect twice. The first write is sent before the load, because the program or an earlier run of the
    /// program may already have sent the write.
    func holdSending() async -> Bool {
        let (flush, pause) = state.withLock { state in
            // If the daemon has refused the last requests (for example with 503), the load does not wait for the first
            // write, because the daemon may have asked for a long pause.
            let isRefusing = if case .refusing = state.availability.phase { true } else { false }
            return (state.sending.beginHold(afterFirst: !isRefusing), isRefusing ? nil : state.sending.pause)
        }
        guard let flush else { return true }
        pause?.fulfill(())
        // The other half of the timeout is left for the load.
        if case .failure = await flush.value(until: .now + options.timeout / 2) { return false }
        return true
    }

    func resumeSending() {
        state.withLock { $0.sending.endHold() }?.fulfill(())
    }

    /// Begins a flush. The promise is fulfilled when the daemon has answered all writes, or when an attempt to send a
    /// write fails. Returns nil if there are no writes.
    func beginFlush() -> Promise<Result<Void, BackendError>>? {
        let (flush, pause) = state.withLock { ($0.sending.addFlush(), $0.sending.pause) }
        pause?.fulfill(())
        return flush
    }
}

/// The adoption of writes in the outbox files of programs that have ended.
extension SuiteSession {
    /// Adopts abandoned writes, before the first read or write. Does nothing if they were adopted before. Concurrent
    /// callers wait until the first caller has adopted the writes.
    func openOutbox() {
        if outboxOpening.value != nil { return }
        guard !hasBegunOpening.exchange(true, ordering: .acquiringAndReleasing) else {
            return outboxOpening.waitForever()
        }
        adoptAbandonedWrites()
        outboxOpening.fulfill(())
    }

    /// Does the same as ``openOutbox()``, and waits without blocking a thread.
    nonisolated(nonsending) func openOutboxInBackground() async {
        if outboxOpening.value != nil { return }
        ClientThread.shared.execute { self.openOutbox() }
        _ = await outboxOpening.value()
    }

    private func adoptAbandonedWrites() {
        var found = outbox.withLock { $0.collectAbandonedWrites() }
        let numbered = mutate { [found] state in
            found.writes.map { change in
                state.replica.beginWrite(change)
                return (number: state.sending.addWrite(), change: change)
            }
        }
        found.problems += outbox.withLock { $0.adopt(numbered) }
        for problem in state.withLock({ [found] in $0.sending.newProblems(found.problems) }) {
            report(.unusableFile(path: problem.path, reason: problem.reason), nil, .write)
        }
        if !numbered.isEmpty { wakeSendingTask() }
        guard found.hasLockedFiles else { return }
        // The programs that have locked the remaining files may end later, so the search is repeated.
        ClientThread.shared.schedule(at: .now + options.abandonedFileSearchInterval) { [weak self] in
            self?.adoptAbandonedWrites()
        }
    }
}

extension SuiteSession.State {
    /// Returns true if a caller should wait for the answer to a write: no attempt to send the first write has failed,
    /// or the outage is shorter than the timeout.
    func mayAnswerInTime(_ options: SuiteSession.Options) -> Bool {
        sending.blockingReason == nil
            || availability.mayAnswerInTime(options.outageTimeout ?? options.timeout, at: options.clock.now)
    }
}

extension ReplicaState {
    fileprivate mutating func beginWrite(_ change: PendingChange) {
        switch change.action {
        case .transaction: beginWrite(change.requestKey, change.operations, expected: change.expectedValue)
        case .removeAll: beginRemovalOfAll(change.requestKey)
        }
    }
}
