internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel

/// In place of a suite that nobody can tell where to find: every call says why.
final class NoBackend: SuiteBackend {
    let suite: SuiteName
    private let reason: String

    init(suite: SuiteName, reason: String) {
        self.suite = suite
        self.reason = reason
    }

    func load() throws(BackendError) -> ObservedState { throw .unreachable(reason) }

    func setting(_ key: KeyName) throws(BackendError) -> SettingState { throw .unreachable(reason) }

    func commit(_ transaction: Transaction, requestKey: RequestKey) throws(BackendError) -> WriteSummary {
        throw .unreachable(reason)
    }

    func reset(requestKey: RequestKey) throws(BackendError) -> WriteSummary { throw .unreachable(reason) }

    func schema() throws(BackendError) -> SchemaDocument? { throw .unreachable(reason) }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        throw .unreachable(reason)
    }

    func news(since place: Cursor) throws(BackendError) -> SettingsObservation {
        throw .unreachable(reason)
    }

    func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any Following {
        Nothing()
    }

    private struct Nothing: Following {
        func stop() {}
        func refresh() {}
    }
}
