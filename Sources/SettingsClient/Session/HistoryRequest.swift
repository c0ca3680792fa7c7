internal import SettingsAPI
internal import SettingsEngine
internal import SettingsHTTP
internal import SettingsModel

/// A request that reads the history of a suite, or a write that restores a past state, for a daemon and for a suite in
/// memory. It does not use the replica.
package struct HistoryRequest<Output: Sendable>: Sendable {
    let endpoint: Endpoint<Output>
    /// Carries out the request on a suite in memory. The second argument is the present time.
    let answer: @Sendable (inout StagedState, Timestamp) throws(Problem) -> Output

    package var isWrite: Bool { endpoint.isWrite }
}

extension HistoryRequest where Output == SettingState {
    /// Reads a setting at a moment. Fails if the suite did not exist at this moment. If the key had no value, the
    /// setting has no value.
    static func setting(_ key: KeyName, in suite: SuiteName, at moment: Moment) -> HistoryRequest {
        HistoryRequest(endpoint: Endpoint<Answer<SettingState>>.setting(key, in: suite, at: moment).map { $0.body }) {
            staged, _ throws(Problem) in
            let revision = try staged.state.recentPast.revision(at: moment, of: suite)
            guard let past = try staged.state.recentPast.suite(suite, at: revision) else {
                throw staged.state.recentPast.unknownSuite(suite, for: nil, at: revision)
            }
            return past.setting(key)
        }
    }
}

extension HistoryRequest where Output == SuiteHistory {
    /// Reads a page of the commits that changed one of these keys. An empty list of keys means all commits to the
    /// suite.
    static func history(of suite: SuiteName, _ keys: [KeyName], before: Revision?, limit: Int) -> HistoryRequest {
        let pages = Endpoint<Answer<SuiteHistory>>.history(of: suite, keys: keys, before: before, limit: limit)
        return HistoryRequest(endpoint: pages.map { $0.body }) { staged, _ throws(Problem) in
            try staged.state.recentPast.history(
                HistoryQuery(
                    suite: suite, filter: KeyFilter(keys: keys, prefixes: []), by: nil, before: before, limit: limit,
                    readLimits: nil))
        }
    }
}

extension HistoryRequest where Output == SuiteDifference {
    /// Reads the differences between two moments. The default of the second moment is the present.
    static func difference(of suite: SuiteName, from: Moment, to: Moment?) -> HistoryRequest {
        HistoryRequest(endpoint: .difference(of: suite, from: from, to: to)) { staged, _ throws(Problem) in
            try staged.state.recentPast.difference(of: suite, from: from, to: to ?? .revision(staged.state.revision))
        }
    }
}

extension HistoryRequest where Output == WriteSummary {
    /// Reverts the changes of a commit to a suite.
    ///
    /// - Parameter isForced: true to revert also the keys that a later commit has changed.
    static func undo(_ revision: Revision, in suite: SuiteName, isForced: Bool, note: String?) -> HistoryRequest {
        write(
            .undo(UndoRequest(revision, isForced: isForced), of: suite, onConflict: .refuse), note
        ) { .undo(revision, in: suite, isForced: isForced, $0) }
    }

    /// Restores the stored values of a suite, or of these keys, to a moment.
    static func restore(_ suite: SuiteName, to moment: Moment, keys: [KeyName]?, note: String?) -> HistoryRequest {
        write(
            .restore(suite, RestoreRequest(to: moment, keys: keys), skipsConflicts: false), note
        ) { .restore(suite, to: moment, keys: keys, $0) }
    }

    /// Stores the value that one key had in the past.
    static func set(_ key: KeyName, to value: JSONValue, in suite: SuiteName, note: String?) -> HistoryRequest {
        let change = Transaction(if: [], do: [Transaction.Operation(suite: suite, key: key, .set(value))])
        return write(.transaction(change), note) { .commit(change, $0) }
    }

    /// - Parameter endpoint: makes the request for a daemon that has the same effect as the command.
    private static func write(
        _ command: WriteCommand, _ note: String?,
        _ endpoint: (WriteOptions) -> Endpoint<Answer<WriteSummary>>
    ) -> HistoryRequest {
        HistoryRequest(endpoint: endpoint(WriteOptions(requestKey: .unique(), note: note)).map { $0.body }) {
            staged, now throws(Problem) in
            var request = WriteRequest(command)
            request.origin = CommitOrigin(by: nil, note: note)
            return try staged.summary(of: request, at: now)
        }
    }
}
