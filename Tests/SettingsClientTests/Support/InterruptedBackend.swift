import SettingsModel
import Synchronization

@testable import SettingsClient
@testable import SettingsHTTP

/// A suite that can be out of reach for a while, and that counts its requests.
final class InterruptedBackend: SuiteBackend {
    /// The numbers of requests that got through.
    struct Counts {
        var settings = 0
        var schemas = 0
        var commits = 0
    }

    let suite: SuiteName
    private let backend: any SuiteBackend
    private let state = Mutex((isAway: false, refusesSchema: false, counts: Counts()))
    private let foreignSchema = Mutex<JSONValue?>(nil)
    private let beforeCommit = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ backend: any SuiteBackend) {
        suite = backend.suite
        self.backend = backend
    }

    /// True if requests get no answer.
    var isAway: Bool {
        get { state.withLock { $0.isAway } }
        set { state.withLock { $0.isAway = newValue } }
    }

    /// True if requests for the schema get no answer.
    var isSchemaAway: Bool {
        get { state.withLock { $0.refusesSchema } }
        set { state.withLock { $0.refusesSchema = newValue } }
    }

    var counts: Counts { state.withLock { $0.counts } }

    /// The answer to requests for the schema, instead of the real one.
    var answeredSchema: JSONValue? {
        get { foreignSchema.withLock { $0 } }
        set { foreignSchema.withLock { $0 = newValue } }
    }

    /// Does something before the next commit gets through.
    func beforeNextCommit(_ body: @escaping @Sendable () -> Void) {
        beforeCommit.withLock { $0 = body }
    }

    private func pass(_ counter: any WritableKeyPath<Counts, Int> & Sendable) throws(BackendError) {
        let isAway = state.withLock { state in
            if state.isAway || counter == \.schemas && state.refusesSchema { return true }
            state.counts[keyPath: counter] += 1
            return false
        }
        if isAway { throw .unreachable("nobody answers") }
    }

    func load() async throws(BackendError) -> ObservedState {
        if isAway { throw .unreachable("nobody answers") }
        return try await backend.load()
    }

    func changes(since cursor: Cursor) async throws(BackendError) -> SettingsObservation {
        if isAway { throw .unreachable("nobody answers") }
        return try await backend.changes(since: cursor)
    }

    func setting(_ key: KeyName) async throws(BackendError) -> SettingState {
        try pass(\.settings)
        return try await backend.setting(key)
    }

    func send<Output>(_ call: DirectRequest<Output>) async throws(BackendError) -> Output {
        if isAway { throw .unreachable("nobody answers") }
        return try await backend.send(call)
    }

    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        try pass(\.commits)
        let body = beforeCommit.withLock { body in
            defer { body = nil }
            return body
        }
        if let body { await offThread(body) }
        return try await backend.write(change)
    }

    func schema() async throws(BackendError) -> SchemaDocument? {
        try pass(\.schemas)
        guard let document = try await backend.schema(), let answered = answeredSchema else {
            return try await backend.schema()
        }
        return SchemaDocument(document: answered, revision: document.revision)
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) async throws(BackendError) -> WriteSummary {
        try pass(\.commits)
        return try await backend.setSchema(document, onConflict: policy, requestKey: requestKey)
    }

    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription {
        backend.follow(from: cursor, onFailure: onFailure, handler)
    }
}
