import SettingsAPI
import SettingsEngine
import SettingsModel
import Testing

/// The limit of all pending actions. `PendingRefusalTests` tests the limit of the actions of one suite.
struct PendingLimitTests {
    /// A state with 10,000 scheduled writes, 1,000 in each of ten suites.
    private func fullState() throws -> State {
        var pending = PendingActions()
        let key = try KeyName("k")
        let lastRevision = try #require(Revision(10_000))
        for number in 1...10_000 {
            let suite = try SuiteName("suite\(number % 10)")
            let write = ScheduledWrite(
                .setting(Transaction.Operation(suite: suite, key: key, .set(1))), guards: [], overridesLocks: false,
                grants: nil)
            let action = PendingAction(
                createdBy: try #require(Revision(Int64(number))), at: Timestamp(milliseconds: 1), kind: .effective,
                deadline: Timestamp(milliseconds: 60_000), origin: nil,
                scopes: [PendingScope(suite, keys: [key])], write: write)
            // The action reverts no commit.
            pending.restore(PendingEntry(action, commit: nil), lastChange: lastRevision)
        }
        let empty = State(epoch: try #require(Epoch("e0")), revision: lastRevision)
        return State(
            epoch: empty.epoch, revision: lastRevision, time: Timestamp(milliseconds: 1), suites: empty.suites,
            lastDropRevision: .zero, history: empty.history, limits: empty.limits, pending: pending)
    }

    @Test
    func `A write with a deadline is refused while there are 10,000 pending actions, and accepted after one ends`()
        throws
    {
        var staged = StagedState(try fullState())
        func write(_ deadlines: WriteRequest.Deadlines?) throws -> Commit? {
            // Each write stores another value, so that each write changes something.
            let operation = Transaction.Operation(
                suite: try SuiteName("other"), key: try KeyName("k"), .set(.integer(staged.revision.number)))
            var request = WriteRequest(.setting(operation))
            request.deadlines = deadlines
            return try staged.write(request, at: Timestamp(milliseconds: 1)).commit?.commit
        }
        let later = PendingTime.after(milliseconds: 60_000)
        let until = WriteRequest.Deadlines(confirm: nil, until: later, effective: nil)
        let kinds = [
            WriteRequest.Deadlines(confirm: 60_000, until: nil, effective: nil),
            until,
            WriteRequest.Deadlines(confirm: nil, until: nil, effective: later),
        ]
        for deadlines in kinds {
            let problem = try #require(throws: Problem.self) { _ = try write(deadlines) }
            #expect(problem.code == .insufficientStorage && problem.limit == 10_000)
            #expect(problem.detail.contains("there are 10000 pending actions in all"), "\(problem.detail)")
        }
        #expect(staged.state.suites.count == 0)
        #expect(try write(nil) != nil)
        let first = PendingID(try #require(Revision(1)))
        _ = try staged.write(WriteRequest(.pending(first, .cancel)), at: Timestamp(milliseconds: 1))
        #expect(staged.state.pending.count == 9999)
        #expect(try write(until)?.pending.count == 1)
        #expect(throws: Problem.self) { _ = try write(until) }
    }
}
