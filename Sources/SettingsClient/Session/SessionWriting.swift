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
    ///   - holdsLock: true if the caller has the lock of changes in place. The caller then announces the change.
    ///   - isAllowed: returns true if the key allows a value that the session has computed to resolve a conflict.
    func enqueue(
        _ change: PendingChange, waiter: Promise<WriteResult>? = nil, holdsLock: Bool = false,
        isAllowed: (@Sendable (JSONValue) -> Bool)? = nil
    ) throws(BackendError) {
        openOutbox()
        if hasWritesWithoutNumber, !ClientThread.shared.isCurrent { numberWrites().waitForever() }
        let number = try addToQueue(change, waiter, isAllowed)
        writeToOutbox(change, number)
        if !holdsLock { announceLocalChanges() }
    }

    private var hasWritesWithoutNumber: Bool { state.withLock { $0.sending.waitingForOutbox > 0 } }

    /// Returns a promise that is fulfilled when all writes that wait for the outbox have a number.
    private func numberWrites() -> Promise<Void> {
        let done = Promise<Void>()
        ClientThread.shared.execute { done.fulfill(()) }
        return done
    }

    /// Adds a write to the queue. The client thread writes the outbox file, so the calling thread never waits for a
    /// file operation.
    ///
    /// - Parameter waitsWithoutTimeout: true if the promise is fulfilled only with the answer of the daemon, even after
    ///   an outage.
    func enqueueInBackground(
        _ change: PendingChange, waiter: Promise<WriteResult>, waitsWithoutTimeout: Bool = false
    ) throws(BackendError) {
        let mustWait = state.withLock { state in
            // Writes that earlier runs left in the outbox get the first numbers. Until the outbox is open, new writes
            // wait. A later write must not overtake a write that waits.
            if outboxOpening.value == nil || state.sending.waitingForOutbox > 0 { state.sending.waitingForOutbox += 1 }
            return state.sending.waitingForOutbox > 0
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
            self.state.withLock { $0.sending.waitingForOutbox -= 1 }
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

    /// Sends a write that does not use the queue, after all earlier writes have reached the daemon. When it returns, the
    /// replica contains the result, unless the daemon stopped answering after the write.
    ///
    /// - Parameter catchesUp: true if the replica must also contain the changes because of which the daemon refused the
    ///   write. The queue would apply the refusal itself to the replica.
    nonisolated(nonsending) func sendAfterQueue(
        _ call: DirectRequest<WriteSummary>, catchesUp: Bool = false
    ) async throws(BackendError) -> WriteSummary {
        do {
            try await flush(until: deadline)
        } catch .queued(let reason) {
            // The error `queued` would say that this write waits in the outbox.
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

    /// Sends a write that does not use the queue, without waiting for the queue. When it returns, the replica contains the
    /// result, unless the daemon stopped answering after the write.
    nonisolated(nonsending) func sendPastQueue(
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

    /// Waits for the result of a write. If there is no result before the timeout, the write stays in the queue and in
    /// the outbox file.
    nonisolated(nonsending) func result(of waiter: Promise<WriteResult>) async throws(BackendError) -> WriteSummary {
        let result = await waitForResult(of: waiter)
        // The sending task may report an outage before the client thread has written the outbox file.
        if case .failure(.queued) = result { await waitUntilStored() }
        return try result.get()
    }

    private nonisolated(nonsending) func waitForResult(of waiter: Promise<WriteResult>) async -> WriteResult {
        if let result = mayAnswerInTime ? await waiter.value(until: deadline) : waiter.value { return result }
        let isRemoved = state.withLock { $0.sending.removeWaiter(waiter) }
        // The write has no waiter, because the sending task is about to fulfill the promise.
        if !isRemoved, !Task.isCancelled, let result = await waiter.value(until: .now + .seconds(1)) { return result }
        await waitUntilStored()
        // The write has its number now, so its waiter can be removed. The session reports a refusal of a write without
        // a waiter.
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
            try enqueue(change, holdsLock: holdsLock, isAllowed: isAllowed)
            throw queued
        }
        let waiter = Promise<WriteResult>()
        try enqueue(change, waiter: waiter, holdsLock: holdsLock, isAllowed: isAllowed)
        guard let result = mayAnswerInTime ? waiter.wait(until: deadline) : waiter.value else {
            let isRemoved = state.withLock { $0.sending.removeWaiter(waiter) }
            // The write has no waiter, because the sending task is about to fulfill the promise.
            if !isRemoved, let result = waiter.wait(until: .now + .seconds(1)) { return try result.get() }
            throw queued
        }
        return try result.get()
    }

    /// False if the daemon has not answered for longer than the timeout of callers, so that a caller should not wait.
    var mayAnswerInTime: Bool { state.withLock { $0.mayAnswerInTime(options) } }

    private var queued: BackendError {
        .queued(state.withLock { $0.sending.blockingReason } ?? "the daemon did not answer in time")
    }

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

    /// True if the daemon has not answered all writes.
    var hasUnsentWrites: Bool { state.withLock { $0.sending.count > 0 } }

    /// Waits until the daemon has answered all present writes. Throws the reason if a write has to wait.
    nonisolated(nonsending) func flush(until deadline: ContinuousClock.Instant) async throws(BackendError) {
        await openOutboxInBackground()
        if hasWritesWithoutNumber { _ = await numberWrites().value() }
        guard let flush = beginFlush() else { return }
        guard let result = await flush.value(until: deadline) else { throw Task.isCancelled ? .cancelled : queued }
        try result.get()
    }

    /// Waits until the first write has an answer, and stops the sending of other writes until ``resumeSending()``.
    /// Returns false if the attempt to send the first write has failed.
    ///
    /// The suite is loaded between the two calls. If the daemon carried out a write during the load, the loaded state
    /// could contain the effect of the write. The client would apply the pending write again, and readers would get the
    /// effect twice. The first write is sent before the load, because an earlier run of the program may already have
    /// sent it.
    func holdSending() async -> Bool {
        let (flush, pause) = state.withLock { state in
            // After a refusal, the daemon may have asked for a pause.
            let isRefusing = if case .refusing = state.availability.phase { true } else { false }
            return (state.sending.beginHold(afterFirst: !isRefusing), isRefusing ? nil : state.sending.pause)
        }
        guard let flush else { return true }
        pause?.fulfill(())
        // Half of the timeout is left for the load.
        if case .failure = await flush.value(until: .now + options.timeout / 2) { return false }
        return true
    }

    func resumeSending() {
        state.withLock { $0.sending.endHold() }?.fulfill(())
    }

    /// Begins a flush. The promise is fulfilled when the daemon has answered all writes, or when a write has to wait.
    func beginFlush() -> Promise<Result<Void, BackendError>>? {
        let (flush, pause) = state.withLock { ($0.sending.addFlush(), $0.sending.pause) }
        pause?.fulfill(())
        return flush
    }
}

/// The adoption of writes that programs have left in the outbox when they ended.
extension SuiteSession {
    /// Adopts abandoned writes once, before the first read or write. Concurrent callers wait until this has been done.
    func openOutbox() {
        if outboxOpening.value != nil { return }
        guard !hasBegunOpening.exchange(true, ordering: .acquiringAndReleasing) else {
            _ = outboxOpening.wait(until: .now + .seconds(60))
            return
        }
        adoptAbandonedWrites()
        outboxOpening.fulfill(())
    }

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
        // The programs that have locked the other files may end later, so the search is repeated.
        ClientThread.shared.schedule(at: .now + options.abandonedFileSearchInterval) { [weak self] in
            self?.adoptAbandonedWrites()
        }
    }
}

extension SuiteSession.State {
    /// True if a caller should wait for the answer to a write. A failed read is ignored if no failure of a write is
    /// known.
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
