internal import SettingsAPI
internal import SettingsEngine
internal import SettingsHTTP
internal import SettingsModel

/// A call about the past of a suite, as a daemon answers it and as a suite in memory does.
package struct PastCall<Output: Sendable>: Sendable {
    let endpoint: Endpoint<Output>
    /// Answers it from a suite in memory, at a moment.
    let answer: @Sendable (inout StagedState, Timestamp) throws(Problem) -> Output

    package var isWrite: Bool { endpoint.isWrite }
}

extension PastCall where Output == SettingState {
    /// A setting as it was. Refused, or without a value, if there was none.
    static func setting(_ key: KeyName, in suite: SuiteName, at moment: Moment) -> PastCall {
        PastCall(endpoint: Endpoint<Answer<SettingState>>.setting(key, in: suite, at: moment).map { $0.body }) {
            staged, _ throws(Problem) in
            let place = try staged.state.recentPast.revision(at: moment, of: suite)
            guard let past = try staged.state.recentPast.suite(suite, at: place) else {
                throw staged.state.recentPast.unknownSuite(suite, for: nil, at: place)
            }
            return past.setting(key)
        }
    }
}

extension PastCall where Output == SuiteHistory {
    /// A page of the commits that changed one of these keys; for none, of all that touched the suite.
    static func history(of suite: SuiteName, _ keys: [KeyName], before: Revision?, limit: Int) -> PastCall {
        let pages = Endpoint<Answer<SuiteHistory>>.history(of: suite, keys: keys, before: before, limit: limit)
        return PastCall(endpoint: pages.map { $0.body }) { staged, _ throws(Problem) in
            try staged.state.recentPast.history(
                HistoryQuery(
                    suite: suite, filter: KeyFilter(keys: keys, prefixes: []), by: nil, before: before, limit: limit,
                    readLimits: nil))
        }
    }
}

extension PastCall where Output == SuiteDifference {
    /// What differs between two places; without the second, until now.
    static func difference(of suite: SuiteName, from: Moment, to: Moment?) -> PastCall {
        PastCall(endpoint: .difference(of: suite, from: from, to: to)) { staged, _ throws(Problem) in
            try staged.state.recentPast.difference(of: suite, from: from, to: to ?? .revision(staged.state.revision))
        }
    }
}

extension PastCall where Output == WriteSummary {
    /// What a commit did to a suite, undone.
    static func undo(_ revision: Revision, in suite: SuiteName, isForced: Bool, note: String?) -> PastCall {
        write(
            .undo(UndoRequest(revision, isForced: isForced), of: suite, onConflict: .refuse), note
        ) { .undo(revision, in: suite, isForced: isForced, $0) }
    }

    /// What a suite stores made what it was: of all keys, or of these.
    static func restore(_ suite: SuiteName, to moment: Moment, keys: [KeyName]?, note: String?) -> PastCall {
        write(
            .restore(suite, RestoreRequest(to: moment, keys: keys), skipsConflicts: false), note
        ) { .restore(suite, to: moment, keys: keys, $0) }
    }

    /// A value stored again.
    static func set(_ key: KeyName, to value: JSONValue, in suite: SuiteName, note: String?) -> PastCall {
        let change = Transaction(if: [], do: [Transaction.Operation(suite: suite, key: key, .set(value))])
        return write(.transaction(change), note) { .commit(change, $0) }
    }

    /// - Parameter endpoint: makes the request that a daemon gets for the same.
    private static func write(
        _ command: WriteRequest.Command, _ note: String?,
        _ endpoint: (WriteOptions) -> Endpoint<Answer<WriteSummary>>
    ) -> PastCall {
        PastCall(endpoint: endpoint(WriteOptions(requestKey: .unique(), note: note)).map { $0.body }) {
            staged, now throws(Problem) in
            var request = WriteRequest(command)
            request.origin = CommitOrigin(by: nil, note: note)
            return try staged.summary(of: request, at: now)
        }
    }
}
