import Platform
import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// Renamed keys during an outage of the server.
@Suite(.ownThread)
struct RenameDuringOutageTests {
    private typealias OldKeys = RenameTests.OldKeys
    /// Has the key `libraries`, whose former names are `folders` and `paths`, and the key `other`, which was not
    /// renamed.
    private typealias NewKeys = RenameTests.NewKeys

    @Test
    func `A removal during an outage also removes the value of the former name`() async throws {
        let suite = try SuiteName("com.example.app")
        let server = InMemoryBackend(suite: suite)
        let fixture = SuiteFixture { server }
        fixture.adapter(OldKeys()).folders = ["a"]
        fixture.adapter(OldKeys()).paths = ["b"]
        let directory = try TemporaryDirectory()
        let link = FlakyBackend(server)
        link.disconnect()
        // The directory of the outbox file is named after a server address, here `.usual`. No request is sent there.
        let session = SuiteSession(
            link, outbox: .directory(directory.path), cache: .none, server: .usual, timeout: .seconds(20))
        let defaults = fixture.adapter(NewKeys(), session: session, writes: .background)
        defaults.remove(\.libraries)
        link.reconnect()
        try await defaults.synchronize()
        #expect(defaults.libraries == [])
        #expect(try await fixture.waits(forStoredKeys: []))
    }

    /// Creates a suite whose schema does not allow the value of the former name. The replica does not contain invalid
    /// values, so the client fetches the value before it moves the value.
    private func fixtureWithInvalidValue() async throws -> SuiteFixture {
        let fixture = try BackendKind.memory.fixture()
        fixture.adapter(OldKeys()).folders = ["a"]
        let schema = SuiteFixture.schema(of: ["folders": ["type": "string"], "libraries": ["type": "array"]])
        try await fixture.put(schema: schema, onConflict: .keep)
        return fixture
    }

    @Test(.timeLimit(.minutes(10)))
    func `An adapter that is released while it moves a value is deallocated`() async throws {
        let link = FlakyBackend(try await fixtureWithInvalidValue().backend())
        link.setFate { .refused(Problem(.overloaded, "later")) }
        var defaults: DefaultsAdapter<NewKeys>? = DefaultsAdapter(
            keyStore: NewKeys(), session: SuiteSession(link), writes: .background, log: DefaultsLog { _, _, _ in })
        try await defaults?.ready()
        // The setter begins the move, whose write is added to the queue after the write of the setter.
        defaults?.libraries = ["b"]
        try eventually { defaults?.core.session.state.withLock { $0.sending.count } == 2 }
        weak let core = defaults?.core
        defaults = nil
        try eventually { core == nil }
    }

    @Test
    func `A transaction before the move of a value removes the value of the former name`() async throws {
        let fixture = try await fixtureWithInvalidValue()
        let (defaults, backend) = fixture.interruptibleAdapter(NewKeys())
        try await defaults.ready()
        backend.isServerUnreachable = true
        #expect(defaults.libraries == [])
        // The transaction stays in the queue.
        await #expect(throws: DefaultsError.self) { try await defaults.transaction { $0.libraries = ["b"] } }
        backend.isServerUnreachable = false
        try await defaults.synchronize()
        #expect(defaults.libraries == ["b"])
        // If the former value were still stored, it would be moved now.
        defaults.remove(\.libraries)
        #expect(fixture.adapter(NewKeys()).libraries == [])
    }

    @Test(.timeLimit(.minutes(10)))
    func `A value of a former name that the cache lacks is moved after an outage`() async throws {
        let suite = try SuiteName("com.example.app")
        let server = InMemoryBackend(suite: suite)
        let fixture = SuiteFixture { server }
        let directory = try TemporaryDirectory()
        let link = FlakyBackend(server)
        let owner = FileOwner(server: "server", suite: suite)
        let file = CacheFile(in: directory.path + "/cache", of: owner, files: POSIXFileSystem())
        func start() -> DefaultsAdapter<NewKeys> {
            fixture.adapter(NewKeys(), session: SuiteSession(link, cache: file, options: .init(saveInterval: .zero)))
        }
        var first: DefaultsAdapter<NewKeys>? = start()
        first?.other = 1
        try eventually { file.read()?.suites.first?.values.count == 1 }
        weak let core = first?.core
        first = nil
        try eventually { core == nil }
        fixture.adapter(OldKeys()).folders = ["a"]
        link.disconnect()
        let defaults = start()
        #expect(defaults.libraries == [] && defaults.other == 1)
        link.reconnect()
        try await defaults.synchronize()
        #expect(defaults.libraries == ["a"])
        try await defaults.flush()
        #expect(try await fixture.waits(forStoredKeys: ["libraries", "other"]))
    }
}
