internal import Dispatch
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// Writing, on the calling thread.
extension SuiteSession {
    /// Sends a transaction. The replica shows it from now on until it is settled.
    func commit(
        _ operations: [Transaction.Operation], if conditions: [Transaction.Condition] = [],
        else conflict: PendingChange.Conflict = .refusal
    ) throws(BackendError) {
        try commit(
            PendingChange(
                action: .transaction(Transaction(if: conditions, do: operations)), requestKey: .unique(),
                conflict: conflict))
    }

    private func commit(_ change: PendingChange) throws(BackendError) {
        // The writes of earlier programs come first, also for readers.
        adoptOrphans()
        self.change { $0.begin(change.requestKey, change.operations) }
        do {
            try WaitingTime.sharing { () throws(BackendError) in
                let summary = try perform(change)
                catchUpIfOpen(summary, removalOf: change.removedKeys)
                self.change { replica in
                    switch change.action {
                    case .transaction: replica.settle(change.requestKey, change.operations, summary)
                    case .reset: replica.apply(reset: change.requestKey, summary)
                    }
                }
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
    /// - Parameter normalized: returns a merged value as the type of the key writes it, or throws if it is none of its values.
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
            let next = try change.resolved(over: current, as: .unique(), normalized: normalized)
            guard let next else { throw .refused(Refusal(change.explained(problem, current))) }
            change = next
        }
        throw .refused(
            Refusal(.preconditionFailed, "\(change.key?.text ?? "") of suite \(suite) is changed all the time"))
    }

    /// More than there are programs that change one key at a time.
    static let mostConflicts = 1000

    /// Returns the setting that a conflict found. A refusal does not tell the value of a secret.
    private func found(_ key: KeyName, after problem: Problem) throws(BackendError) -> SettingState {
        guard let current = problem.conflicting, !current.isConcealed else {
            return try ask(for: key)
        }
        change { $0.learn(current, fromRefusal: true) }
        return current
    }

    /// Removes all stored values of the suite.
    func removeAll() throws(BackendError) {
        try commit(PendingChange(action: .reset, requestKey: .unique()))
    }

    /// Brings the replica up to date if a removal leaves open what is there: a default would not be seen until then. If that
    /// fails, the follower asks soon.
    private func catchUpIfOpen(_ summary: WriteSummary, removalOf keys: [KeyName]?) {
        guard keys?.isEmpty != true, state.withLock({ $0.replica.leavesOpen(summary, removalOf: keys) }) else { return }
        if (try? catchUp()) == nil { refresh() }
    }

    /// Sets the schema. Kept writes are sent first, as it is to be checked against them.
    func setSchema(_ document: JSONValue, onConflict policy: ConflictPolicy) throws(BackendError) -> WriteSummary {
        try sendKept()
        return try backend.setSchema(document, onConflict: policy, requestKey: .unique())
    }

    /// Takes in the settings whose conditions did not hold. Asks for secrets, of which a refusal tells nothing.
    func learn(_ problem: Problem) {
        change { $0.learn(problem) }
        for failed in problem.failed {
            if case .setting(let current) = failed.current, current.isConcealed { _ = try? ask(for: current.key) }
        }
    }
}

/// Sending a write, or keeping it for later.
extension SuiteSession {
    /// Sends a write and returns its summary. While the server is away it throws `kept` and puts the write into the outbox,
    /// and also all later ones until that is empty, which keeps their order.
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
            // A write that may have been done has to be repeated as it was.
            let isUnsent = if case .unreachable(_, .notDone) = error { true } else { false }
            try keep(write, as: isUnsent ? write.forLater : write, reason, in: outbox, isTried: true)
            pause(reason, atLeast: asked, isAnswer: isAnswer)
            throw .kept(reason)
        }
    }

    /// Sends a write, and notes if there was an answer.
    func send(_ write: PendingChange) throws(BackendError) -> WriteSummary {
        do {
            let summary = try backend.write(write)
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

    /// Waits for the result of a kept write; nil if setters do not wait, or the time is over.
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
