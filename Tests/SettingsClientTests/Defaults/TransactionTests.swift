import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// The consistency of the values that a transaction reads, and transactions that send no write.
@Suite(.ownThread)
struct TransactionTests {
    private struct Failure: Error {}

    @Test(arguments: BackendKind.allCases)
    func `A second read of a key in a transaction returns the same value`(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        var runs = 0
        try await defaults.transaction { t in
            let first = t.launchCount
            runs += 1
            if runs == 1 { defaults.launchCount = 7 }
            #expect(t.launchCount == first)
            t.loginTries = first
        }
        #expect(runs == 2 && defaults.loginTries == 7)
    }

    @Test(arguments: BackendKind.allCases)
    func `All reads of a transaction are of the same revision, even without writes`(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        defaults.launchCount = 1
        defaults.loginTries = 1
        var runs = 0
        let (count, tries) = try await defaults.transaction { t in
            let count = t.launchCount
            runs += 1
            if runs == 1 {
                defaults.launchCount = 2
                defaults.loginTries = 2
            }
            return (count, t.loginTries)
        }
        #expect(count == 2 && tries == 2 && runs == 2)
    }

    @Test(arguments: BackendKind.allCases)
    func `A change of a missing value through an optional chain sends no write`(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (defaults, backend) = fixture.interruptibleAdapter(ClientKeys())
        try await defaults.update(\.username) { $0?.append("x") }
        try await defaults.transaction { t in t.username?.append("x") }
        #expect(backend.counts.writes == 0)
    }

    @Test(arguments: BackendKind.allCases)
    func `A transaction can remove an unset key of a suite that does not exist`(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        try await defaults.transaction { t in if t.username == nil { t.username = nil } }
        #expect(!defaults.isSet(\.username))
    }

    /// A backend that logs the requests `load`, `setting`, `direct`, `write` and `schema`, and forwards all requests.
    private final class RequestLoggingBackend: SuiteBackend {
        private let inner: any SuiteBackend
        let log = EventLog()

        init(_ inner: any SuiteBackend) { self.inner = inner }

        var suite: SuiteName { inner.suite }

        func load() async throws(BackendError) -> ObservedState {
            log.add("load")
            return try await inner.load()
        }
        func setting(_ key: KeyName) async throws(BackendError) -> SettingState {
            log.add("setting")
            return try await inner.setting(key)
        }
        func send<Output>(_ call: DirectRequest<Output>) async throws(BackendError) -> Output {
            log.add("direct")
            return try await inner.send(call)
        }
        func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
            log.add("write")
            return try await inner.write(change)
        }
        func schema() async throws(BackendError) -> SchemaDocument? {
            log.add("schema")
            return try await inner.schema()
        }
        func setSchema(
            _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
        ) async throws(BackendError) -> WriteSummary {
            try await inner.setSchema(document, onConflict: policy, requestKey: requestKey)
        }
        func changes(since cursor: Cursor) async throws(BackendError) -> SettingsObservation {
            try await inner.changes(since: cursor)
        }
        func follow(
            from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
            _ handler: @escaping @Sendable (SettingsObservation) -> Void
        ) -> any BackendSubscription {
            inner.follow(from: cursor, onFailure: onFailure, handler)
        }
    }

    // A registered default replaces the default of the schema, but not a stored value. The state of a suite with a
    // schema has no sources, so the client asks the daemon for the sources after the first run of the body, and the
    // body runs again. The first run also stores a schema with another title. It blocks its thread, so the test runs
    // on the main thread and not on one of the few threads of Swift's pool.
    @Test("A transaction that reads registered defaults runs again with their sources, also if the schema changes")
    @MainActor
    func registeredKeys() async throws {
        let schema = try Schema(of: ClientKeys.self) {
            \.theme; \.launchCount; \.loginTries
        }
        let fixture = try BackendKind.memory.fixture(schema: schema)
        let backend = RequestLoggingBackend(fixture.backend())
        let defaults = fixture.adapter(ClientKeys(), session: SuiteSession(backend))
        defaults.register(defaults: ["theme": "dark", "launchCount": 3])
        var runs = 0
        let read = try await defaults.transaction { t in
            runs += 1
            if runs == 1 {
                try blocking { try await fixture.put(schema: schema.document.merging(["title": "another"])) }
            }
            t.loginTries = 2
            return (t.theme, t.launchCount)
        }
        #expect(read.0 == .dark && read.1 == 3)
        // The client asks for the sources of `theme` and `launchCount`.
        #expect(backend.log.count("setting") == 2 && runs > 1)
    }

    /// Appends an element and then throws an error.
    private func fail(_ list: inout [String]) throws {
        list.append("x")
        throw Failure()
    }

    @Test(arguments: BackendKind.allCases)
    func `A change that throws has no effect, and the other changes of the transaction are stored`(_ kind: BackendKind)
        async throws
    {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults.player.queue = ["a"]
        try await defaults.transaction { t in
            t.launchCount = 1
            try? fail(&t.libraries)
            try? fail(&t[\.libraries])
            try? fail(&t.player.queue)
            try? fail(&t.player[\.queue])
        }
        #expect(defaults.launchCount == 1)
        #expect(!defaults.isSet(\.libraries) && defaults.player.queue == ["a"])
        let setting = Setting(\.libraries, in: defaults)
        try? fail(&setting.value)
        try? fail(&setting.wrappedValue)
        let model = Model(setting)
        try? fail(&model.$libraries.value)
        #expect(!defaults.isSet(\.libraries))
        #expect(fixture.drainIssues() == [])
    }

    private struct Model {
        @Setting var libraries: [String]

        init(_ setting: Setting<[String]>) { _libraries = setting }
    }
}
