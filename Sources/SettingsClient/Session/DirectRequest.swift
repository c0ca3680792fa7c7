internal import SettingsAPI
internal import SettingsEngine
internal import SettingsHTTP
internal import SettingsModel

/// A request that uses neither the replica nor the queue of writes: a read of the history, a write that restores a past
/// state, a write with a deadline, or a request about a pending action. A write of these kinds must not wait in the
/// outbox, because it would be wrong to carry out the write after an outage.
///
/// The request has two forms: an endpoint for a daemon, and a function for a suite in memory.
package struct DirectRequest<Output: Sendable>: Sendable {
    let endpoint: Endpoint<Output>
    /// Carries out the request on a suite in memory at the given time.
    let runInMemory: @Sendable (inout StagedState, Timestamp) throws(Problem) -> Output

    package var isWrite: Bool { endpoint.isWrite }
}

extension DirectRequest where Output == SettingState {
    /// Reads a setting as it was at a moment. Fails if the suite did not exist at this moment. If the key had no value,
    /// a daemon refuses the request with `notSet`, but a suite in memory returns a setting without a value.
    static func setting(_ key: KeyName, in suite: SuiteName, at moment: Moment) -> DirectRequest {
        DirectRequest(endpoint: Endpoint<Answer<SettingState>>.setting(key, in: suite, at: moment).map { $0.body }) {
            staged, _ throws(Problem) in
            let revision = try staged.state.recentPast.revision(at: moment, of: suite)
            guard let past = try staged.state.recentPast.suite(suite, at: revision) else {
                // `for` is nil, because a suite in memory has no access control that could hide the suite.
                throw staged.state.recentPast.unknownSuite(suite, for: nil, at: revision)
            }
            return past.setting(key)
        }
    }
}

extension DirectRequest where Output == SuiteHistory {
    /// Reads a page of the commits that changed at least one of these keys. An empty list of keys means all commits to
    /// the suite.
    static func history(of suite: SuiteName, _ keys: [KeyName], before: Revision?, limit: Int) -> DirectRequest {
        let pages = Endpoint<Answer<SuiteHistory>>.history(of: suite, keys: keys, before: before, limit: limit)
        return DirectRequest(endpoint: pages.map { $0.body }) { staged, _ throws(Problem) in
            // `restrictedGrants` is nil, because a suite in memory has no access control.
            try staged.state.recentPast.history(
                HistoryQuery(
                    suite: suite, filter: KeyFilter(keys: keys, prefixes: []), by: nil, before: before, limit: limit,
                    restrictedGrants: nil))
        }
    }
}

extension DirectRequest where Output == SuiteDifference {
    /// Reads the differences between two moments. Without the second moment, reads the differences to the present.
    static func difference(of suite: SuiteName, from: Moment, to: Moment?) -> DirectRequest {
        DirectRequest(endpoint: .difference(of: suite, from: from, to: to)) { staged, _ throws(Problem) in
            try staged.state.recentPast.difference(of: suite, from: from, to: to ?? .revision(staged.state.revision))
        }
    }
}

extension DirectRequest where Output == WriteSummary {
    /// Reverts the changes of a commit to a suite.
    ///
    /// - Parameter isForced: true to revert also keys that a later commit has changed.
    static func undo(_ revision: Revision, in suite: SuiteName, isForced: Bool, note: String?) -> DirectRequest {
        write(
            .command(.undo(UndoRequest(revision, isForced: isForced), of: suite, onConflict: .refuse)), note
        ) { .undo(revision, in: suite, isForced: isForced, $0) }
    }

    /// Restores the stored values of a suite, or of these keys, to a moment.
    static func restore(_ suite: SuiteName, to moment: Moment, keys: [KeyName]?, note: String?) -> DirectRequest {
        write(
            .command(.restore(suite, RestoreRequest(to: moment, keys: keys), skipsConflicts: false)), note
        ) { .restore(suite, to: moment, keys: keys, $0) }
    }

    /// Stores a value that the key had in the past.
    static func set(_ key: KeyName, to value: JSONValue, in suite: SuiteName, note: String?) -> DirectRequest {
        let change = Transaction(if: [], do: [Transaction.Operation(suite: suite, key: key, .set(value))])
        return write(.command(.transaction(change)), note) { .commit(change, $0) }
    }

    /// Commits a transaction that the daemon will revert, or that it will carry out later.
    static func commit(_ transaction: Transaction, _ deadline: DefaultsDeadline) -> DirectRequest {
        write(.command(.transaction(transaction)), deadline: deadline) { .commit(transaction, $0) }
    }

    /// Confirms, reverts or cancels a pending action, or moves its deadline.
    static func perform(_ request: PendingRequest, on id: PendingID) -> DirectRequest {
        write(.pending(id, request)) { .perform(request, on: id, $0) }
    }

    /// - Parameters:
    ///   - task: the write for a suite in memory.
    ///   - endpoint: returns the request that makes the same write in a daemon.
    private static func write(
        _ task: WriteRequest.Task, _ note: String? = nil, deadline: DefaultsDeadline? = nil,
        _ endpoint: (WriteOptions) -> Endpoint<Answer<WriteSummary>>
    ) -> DirectRequest {
        var options = WriteOptions(requestKey: .unique(), note: note)
        (options.confirm, options.until, options.effective) = (deadline?.confirm, deadline?.until, deadline?.effective)
        return DirectRequest(endpoint: endpoint(options).map { $0.body }) { staged, now throws(Problem) in
            var request = WriteRequest(task)
            request.origin = CommitOrigin(by: nil, note: note)
            if let deadline {
                request.deadlines = try WriteRequest.Deadlines(
                    confirmText: deadline.confirm?.text, until: deadline.until, effective: deadline.effective)
                // The daemon can revert only a single commit.
                request.takesOneCommit = true
            }
            return try staged.writeAndSummarize(request, at: now)
        }
    }
}
