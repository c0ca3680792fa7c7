import Synchronization
import TestSupport

@testable import SettingsClient
@testable import SettingsHTTP

/// A suite in memory that answers as a test says, and logs its requests.
final class SilentBackend: SuiteBackend {
    let suite: SuiteName
    private let inner: InMemoryBackend
    /// The requests: `load`, `news`, and each key of a write.
    let log = EventLog()
    private let rules = Mutex(Rules())

    private struct Rules {
        var isAway = false
        var duringLoad: (@Sendable () -> Void)?
        var beforeCommit: (@Sendable (KeyName) -> Void)?
        var news: SettingsObservation?
    }

    init() throws {
        suite = try SuiteName("com.example.app")
        inner = InMemoryBackend(suite: suite)
    }

    /// True if requests get no answer.
    var isAway: Bool {
        get { rules.withLock { $0.isAway } }
        set { rules.withLock { $0.isAway = newValue } }
    }

    /// Sets the answer to requests for news.
    func answer(news: SettingsObservation) {
        rules.withLock { $0.news = news }
    }

    /// Does something in each load. The load then adds `loaded` to the log.
    func duringLoad(_ body: @escaping @Sendable () -> Void) {
        rules.withLock { $0.duringLoad = body }
    }

    /// Does something before each commit.
    func beforeCommit(_ body: @escaping @Sendable (KeyName) -> Void) {
        rules.withLock { $0.beforeCommit = body }
    }

    private func ask(_ what: String) throws(BackendError) {
        log.add(what)
        if isAway { throw .unreachable("nobody answers") }
    }

    func load() async throws(BackendError) -> ObservedState {
        try ask("load")
        if let body = rules.withLock({ $0.duringLoad }) {
            await offThread(body)
            log.add("loaded")
        }
        return try inner.load()
    }

    func setting(_ key: KeyName) throws(BackendError) -> SettingState {
        try ask("setting")
        return try inner.setting(key)
    }

    func send<Output>(_ call: DirectRequest<Output>) throws(BackendError) -> Output {
        try ask("past")
        return try inner.send(call)
    }

    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        for operation in change.operations { log.add(operation.key.text) }
        if change.action == .removeAll { log.add("reset") }
        if isAway { throw .unreachable("nobody answers") }
        if let key = change.operations.first?.key, let body = rules.withLock({ $0.beforeCommit }) {
            await offThread { body(key) }
        }
        return try inner.write(change)
    }

    func schema() throws(BackendError) -> SchemaDocument? {
        try ask("schema")
        return try inner.schema()
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        try inner.setSchema(document, onConflict: policy, requestKey: requestKey)
    }

    func changes(since cursor: Cursor) throws(BackendError) -> SettingsObservation {
        try ask("news")
        if let news = rules.withLock({ $0.news }) { return news }
        return try inner.changes(since: cursor)
    }

    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription {
        inner.follow(from: cursor, onFailure: onFailure, handler)
    }
}
