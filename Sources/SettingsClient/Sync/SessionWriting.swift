internal import SettingsModel
internal import Synchronization

/// Writing, on the calling thread.
extension SuiteSession {
    /// Sends a transaction. The replica shows it meanwhile; if it is kept, until it was sent.
    func commit(
        _ operations: [Transaction.Operation], if conditions: [Transaction.Condition] = [],
        else conflict: SuiteWrite.Conflict = .refusal
    ) throws(BackendError) {
        // What earlier programs left comes first, also in what is shown.
        backend.inherit()
        let write = SuiteWrite(
            action: .transaction(Transaction(if: conditions, do: operations)), requestKey: requestKeys.next(),
            conflict: conflict)
        change { $0.begin(write.requestKey, operations) }
        try WaitingTime.sharing { () throws(BackendError) in try send(write, operations) }
    }

    private func send(_ write: SuiteWrite, _ operations: [Transaction.Operation]) throws(BackendError) {
        do {
            let summary = try backend.perform(write)
            catchUpIfOpen(summary, removalOf: operations.filter { $0.action == .delete }.map(\.key))
            change { $0.settle(write.requestKey, operations, summary) }
            loadAfterWriting()
        } catch {
            if case .kept = error { throw error }
            change { $0.abandon(write.requestKey, operations) }
            // What does not exist has nothing to remove.
            if case .refused(let problem) = error, write.isVain(after: problem) { return }
            throw error
        }
    }

    /// Removes all stored values of the suite.
    func removeAll() throws(BackendError) {
        backend.inherit()
        let write = SuiteWrite(action: .reset, requestKey: requestKeys.next())
        do {
            try WaitingTime.sharing { () throws(BackendError) in
                let summary = try backend.perform(write)
                catchUpIfOpen(summary, removalOf: nil)
                change { $0.apply(reset: write.requestKey, summary) }
                loadAfterWriting()
            }
        } catch {
            if case .refused(let problem) = error, write.isVain(after: problem) { return }
            throw error
        }
    }

    /// Brings the replica to where the server is if only that tells what is there after a removal. Until it is there,
    /// what was removed is not seen, be it a default; so the follower asks soon if this fails.
    private func catchUpIfOpen(_ summary: WriteSummary, removalOf keys: [KeyName]?) {
        guard keys?.isEmpty != true, leavesOpen(summary, removalOf: keys) else { return }
        if (try? catchUp()) == nil { refresh() }
    }

    /// Runs what sends a write to a key in turn with others that do, so that writes of one program reach the server in
    /// the order in which readers saw them.
    func inTurn<Result, Failure: Error>(
        of cell: KeyCell, orThrow reentry: @autoclosure () -> Failure, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try cell.send(orThrow: reentry(), body)
    }
}
