internal import Dispatch
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// Writing, on the calling thread.
extension SuiteSession {
    /// Sends a transaction. The replica shows it meanwhile; if it is kept, until it was sent.
    func commit(
        _ operations: [Transaction.Operation], if conditions: [Transaction.Condition] = [],
        else conflict: PendingChange.Conflict = .refusal
    ) throws(BackendError) {
        try commit(
            PendingChange(
                action: .transaction(Transaction(if: conditions, do: operations)), requestKey: requestKeys.next(),
                conflict: conflict))
    }

    private func commit(_ change: PendingChange) throws(BackendError) {
        // What earlier programs left comes first, also in what is shown.
        adoptOrphans()
        self.change { $0.begin(change.requestKey, change.operations) }
        do {
            try WaitingTime.sharing { () throws(BackendError) in
                let summary = try perform(change)
                catchUpIfOpen(summary, removalOf: change.removedKeys)
                self.change { $0.settle(change.requestKey, change.operations, summary) }
                loadAfterWriting()
            }
        } catch {
            if case .kept = error { throw error }
            self.change { $0.abandon(change.requestKey, change.operations) }
            if !change.isVain(after: error) { throw error }
        }
    }

    /// Sends a change of one key. After a conflict it is sent again, in the form that its plan has for what is there.
    ///
    /// - Parameter normalized: what the type of the key makes of a value that two have had a part in, or why it is none.
    func commit(
        _ change: PendingChange, normalized: (JSONValue) throws(DefaultsError) -> JSONValue?
    ) throws(DefaultsError) {
        var change = change
        for _ in 0..<Self.mostConflicts {
            let problem: Problem
            do {
                return try commit(change)
            } catch {
                guard case .refused(let refusal) = error, change.isConflict(refusal) else { throw DefaultsError(error) }
                problem = refusal
            }
            guard let key = change.key else { break }
            let current: SettingState
            do {
                current = try found(key, after: problem)
            } catch {
                throw DefaultsError(error)
            }
            let next = try change.resolved(over: current, as: requestKeys.next(), normalized: normalized)
            guard let next else { throw .refused(change.explained(problem, current)) }
            change = next
        }
        throw .refused(
            Problem(.preconditionFailed, "\(change.key?.text ?? "") of suite \(suite) is changed all the time"))
    }

    /// More than all who change one key at a time.
    static let mostConflicts = 1000

    /// What a conflict found. A refusal does not tell the value of a secret.
    private func found(_ key: KeyName, after problem: Problem) throws(BackendError) -> SettingState {
        guard let current = BackendError.refused(problem).current, !current.isConcealed else {
            return try ask(for: key)
        }
        change { $0.learn(current, fromRefusal: true) }
        return current
    }

    /// Removes all stored values of the suite.
    func removeAll() throws(BackendError) {
        adoptOrphans()
        let write = PendingChange(action: .reset, requestKey: requestKeys.next())
        do {
            try WaitingTime.sharing { () throws(BackendError) in
                let summary = try perform(write)
                catchUpIfOpen(summary, removalOf: nil)
                change { $0.apply(reset: write.requestKey, summary) }
                loadAfterWriting()
            }
        } catch {
            if !write.isVain(after: error) { throw error }
        }
    }

    /// Brings the replica to where the server is if only that tells what is there after a removal. Until it is there,
    /// what was removed is not seen, be it a default; so the follower asks soon if this fails.
    private func catchUpIfOpen(_ summary: WriteSummary, removalOf keys: [KeyName]?) {
        guard keys?.isEmpty != true, state.withLock({ $0.replica.leavesOpen(summary, removalOf: keys) }) else { return }
        if (try? catchUp()) == nil { refresh() }
    }

    /// Sets the schema. What was written before may be just what the schema is to be held against, so that is sent first.
    func setSchema(_ document: JSONValue, onConflict policy: ConflictPolicy) throws(BackendError) -> WriteSummary {
        try sendKept()
        return try backend.setSchema(document, onConflict: policy, requestKey: requestKeys.next())
    }

    /// Runs what sends a write to a key in turn with others that do, so that writes of one program reach the server in
    /// the order in which readers saw them.
    func inTurn<Result, Failure: Error>(
        of cell: KeyCell, orThrow reentry: @autoclosure () -> Failure, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try cell.turn.take(orThrow: reentry(), body)
    }

    /// Takes in the settings whose conditions did not hold; asks the server for secrets, of which a refusal tells nothing.
    func learn(_ problem: Problem) {
        change { $0.learn(problem) }
        for failed in problem.failed {
            if case .setting(let current) = failed.current, current.isConcealed { _ = try? ask(for: current.key) }
        }
    }
}

/// Sending a write, or keeping it for later.
extension SuiteSession {
    /// Sends a write and returns what it did. While the server is away it is kept in the outbox, and so are all after it
    /// until that is empty, so that their order is kept; then `kept` is thrown.
    private func perform(_ write: PendingChange) throws(BackendError) -> WriteSummary {
        guard let outbox else { return try send(write) }
        if state.withLock({ $0.sending.count > 0 }) { return try performBehindOthers(write, outbox) }
        do {
            return try send(write)
        } catch {
            // The caller resolves a conflict better: it knows the type of the key.
            guard case .waits(let reason, let asked, let isAnswer) = SendOutcome(.failure(error), of: write) else {
                throw error
            }
            if write.forLater.comparesRevisions { throw error }
            // What may have been done has to be sent again as it was.
            let isUnsent = if case .unreachable(_, .notDone) = error { true } else { false }
            try keep(write, as: isUnsent ? write.forLater : write, reason, in: outbox, isTried: true)
            pause(reason, atLeast: asked, isAnswer: isAnswer)
            throw .kept(reason)
        }
    }

    /// Sends a write, and notes if there was an answer.
    func send(_ write: PendingChange) throws(BackendError) -> WriteSummary {
        do {
            let summary =
                switch write.action {
                case .transaction(let transaction):
                    try backend.commit(transaction, requestKey: write.requestKey)
                case .reset: try backend.reset(requestKey: write.requestKey)
                }
            noteAnswer(toWrite: true)
            return summary
        } catch {
            if error.isVerdict { noteAnswer(toWrite: true) }
            throw error
        }
    }

    private func performBehindOthers(_ write: PendingChange, _ outbox: Outbox) throws(BackendError) -> WriteSummary {
        let reason = "earlier writes wait: \(state.withLock { $0.sending.reason })"
        if write.forLater.comparesRevisions { throw .unreachable(reason, outcome: .notDone) }
        try keep(write, as: write.forLater, reason, in: outbox, isTried: false)
        sendIfNeeded()
        guard let result = result(of: write) else { throw .kept(reason) }
        return try result.get()
    }

    /// Waits for the result of a kept write; nil if the setter does not wait, or not long enough.
    private func result(of write: PendingChange) -> Result<WriteSummary, BackendError>? {
        guard let waiter = state.withLock({ $0.sending.waiter(for: write.requestKey) }) else { return nil }
        let deadline = WaitingTime.deadline(after: times.patience)
        _ = waiter.semaphore.wait(timeout: .after(max(.zero, deadline - .now)))
        return state.withLock { $0.sending.removeWaiter(for: write.requestKey, isUp: $0.availability.isUp) }
    }

    /// Puts a write into the outbox, on disk when this returns.
    ///
    /// - Parameter isTried: true if it was tried just now, and in vain.
    private func keep(
        _ write: PendingChange, as form: PendingChange, _ reason: String, in outbox: Outbox, isTried: Bool
    ) throws(BackendError) {
        do throws(OutboxStore.Refusal) {
            try outbox.use { store throws(OutboxStore.Refusal) in
                try store.keep(write, as: form)
                let count = store.count
                // Shown in the order in which they will be sent, as only one at a time uses the store.
                mutate { state in
                    if state.sending.count == 0 { state.sending.reason = reason }
                    state.sending.count = count
                    if !isTried, state.availability.isUp { state.sending.addWaiter(for: write.requestKey) }
                    if write.action == .reset { state.replica.beginReset(write.requestKey) }
                }
            }
        } catch {
            throw .unreachable("\(reason); and it cannot be kept for later: \(error)")
        }
    }
}

extension PendingChange {
    /// True if a refusal says that there is nothing to remove, as the suite does not exist: that is as good as done.
    fileprivate func isVain(after error: BackendError) -> Bool {
        if case .refused(let problem) = error { isVain(after: problem) } else { false }
    }
}
