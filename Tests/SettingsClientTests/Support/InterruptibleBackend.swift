import SettingsModel
import Synchronization

@testable import SettingsClient
@testable import SettingsHTTP

/// A backend that forwards requests to another backend and counts them. A test can make this backend unreachable.
final class InterruptibleBackend: SuiteBackend {
    /// The numbers of requests that the backend has forwarded.
    struct Counts {
        /// Reads of a single setting.
        var settingReads = 0
        /// Reads of the schema.
        var schemaReads = 0
        /// Writes of settings and of the schema.
        var writes = 0
    }

    let suite: SuiteName
    private let backend: any SuiteBackend
    private let state = Mutex((isServerUnreachable: false, isSchemaUnreachable: false, counts: Counts()))
    private let schemaOverride = Mutex<JSONValue?>(nil)
    private let beforeWrite = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ backend: any SuiteBackend) {
        suite = backend.suite
        self.backend = backend
    }

    /// True if all requests fail, except `follow`.
    var isServerUnreachable: Bool {
        get { state.withLock { $0.isServerUnreachable } }
        set { state.withLock { $0.isServerUnreachable = newValue } }
    }

    /// True if reads of the schema fail.
    var isSchemaUnreachable: Bool {
        get { state.withLock { $0.isSchemaUnreachable } }
        set { state.withLock { $0.isSchemaUnreachable = newValue } }
    }

    var counts: Counts { state.withLock { $0.counts } }

    /// The schema that the backend returns instead of the schema of the suite; nil to return the schema of the suite.
    /// For a suite without a schema, the backend always returns nil.
    var answeredSchema: JSONValue? {
        get { schemaOverride.withLock { $0 } }
        set { schemaOverride.withLock { $0 = newValue } }
    }

    /// Calls the body before the backend forwards the next write of settings.
    func beforeNextWrite(_ body: @escaping @Sendable () -> Void) {
        beforeWrite.withLock { $0 = body }
    }

    /// Counts a request, or throws if the backend is unreachable.
    private func countRequest(_ counter: any WritableKeyPath<Counts, Int> & Sendable) throws(BackendError) {
        let isUnreachable = state.withLock { state in
            if state.isServerUnreachable || counter == \.schemaReads && state.isSchemaUnreachable { return true }
            state.counts[keyPath: counter] += 1
            return false
        }
        if isUnreachable { throw .unreachable("nobody answers") }
    }

    private func requireServer() throws(BackendError) {
        if isServerUnreachable { throw .unreachable("nobody answers") }
    }

    func load() async throws(BackendError) -> ObservedState {
        try requireServer()
        return try await backend.load()
    }

    func changes(since cursor: Cursor) async throws(BackendError) -> SettingsObservation {
        try requireServer()
        return try await backend.changes(since: cursor)
    }

    func setting(_ key: KeyName) async throws(BackendError) -> SettingState {
        try countRequest(\.settingReads)
        return try await backend.setting(key)
    }

    func send<Output>(_ call: DirectRequest<Output>) async throws(BackendError) -> Output {
        try requireServer()
        return try await backend.send(call)
    }

    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        try countRequest(\.writes)
        let body = beforeWrite.withLock { body in
            defer { body = nil }
            return body
        }
        if let body { await onOwnThread(body) }
        return try await backend.write(change)
    }

    func schema() async throws(BackendError) -> SchemaDocument? {
        try countRequest(\.schemaReads)
        let document = try await backend.schema()
        guard let document, let answered = answeredSchema else { return document }
        return SchemaDocument(document: answered, revision: document.revision)
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) async throws(BackendError) -> WriteSummary {
        try countRequest(\.writes)
        return try await backend.setSchema(document, onConflict: policy, requestKey: requestKey)
    }

    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription {
        backend.follow(from: cursor, onFailure: onFailure, handler)
    }
}
