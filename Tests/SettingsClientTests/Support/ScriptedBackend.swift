import Synchronization
import TestSupport

@testable import SettingsClient
@testable import SettingsHTTP

/// A backend in memory that logs its requests. A test can make it unreachable, and can run code during a request.
final class ScriptedBackend: SuiteBackend {
    let suite: SuiteName
    private let inner: InMemoryBackend
    /// The log has `load`, `loaded`, `setting`, `direct`, `schema` and `changes` for requests, the key of each
    /// operation of a write, and `removeAll` for the removal of all values.
    let log = EventLog()
    private let rules = Mutex(Rules())

    private struct Rules {
        var isServerUnreachable = false
        var duringLoad: (@Sendable () -> Void)?
        var beforeWrite: (@Sendable (KeyName) -> Void)?
        var changes: SettingsObservation?
    }

    init() throws {
        suite = try SuiteName("com.example.app")
        inner = InMemoryBackend(suite: suite)
    }

    /// True if all requests fail, except a write of the schema and `follow`.
    var isServerUnreachable: Bool {
        get { rules.withLock { $0.isServerUnreachable } }
        set { rules.withLock { $0.isServerUnreachable = newValue } }
    }

    /// Sets the answer to requests for the changes since a cursor.
    func setChanges(_ changes: SettingsObservation) {
        rules.withLock { $0.changes = changes }
    }

    /// Calls the body in each load. The load then adds `loaded` to the log.
    func duringLoad(_ body: @escaping @Sendable () -> Void) {
        rules.withLock { $0.duringLoad = body }
    }

    /// Calls the body with the first key before each write.
    func beforeWrite(_ body: @escaping @Sendable (KeyName) -> Void) {
        rules.withLock { $0.beforeWrite = body }
    }

    private func logRequest(_ name: String) throws(BackendError) {
        log.add(name)
        if isServerUnreachable { throw .unreachable("nobody answers") }
    }

    func load() async throws(BackendError) -> ObservedState {
        try logRequest("load")
        if let body = rules.withLock({ $0.duringLoad }) {
            await onOwnThread(body)
            log.add("loaded")
        }
        return try inner.load()
    }

    func setting(_ key: KeyName) throws(BackendError) -> SettingState {
        try logRequest("setting")
        return try inner.setting(key)
    }

    func send<Output>(_ call: DirectRequest<Output>) throws(BackendError) -> Output {
        try logRequest("direct")
        return try inner.send(call)
    }

    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        for operation in change.operations { log.add(operation.key.text) }
        if change.action == .removeAll { log.add("removeAll") }
        if isServerUnreachable { throw .unreachable("nobody answers") }
        if let key = change.operations.first?.key, let body = rules.withLock({ $0.beforeWrite }) {
            await onOwnThread { body(key) }
        }
        return try inner.write(change)
    }

    func schema() throws(BackendError) -> SchemaDocument? {
        try logRequest("schema")
        return try inner.schema()
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        try inner.setSchema(document, onConflict: policy, requestKey: requestKey)
    }

    func changes(since cursor: Cursor) throws(BackendError) -> SettingsObservation {
        try logRequest("changes")
        if let changes = rules.withLock({ $0.changes }) { return changes }
        return try inner.changes(since: cursor)
    }

    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription {
        inner.follow(from: cursor, onFailure: onFailure, handler)
    }
}
