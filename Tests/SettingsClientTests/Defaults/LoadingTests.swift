import ClientTestSupport
import Dispatch
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// The load of the suite, and callers that wait for the load.
@Suite(.ownThread)
struct LoadingTests {
    /// The log of the backend has the key of each write, `load` when a load begins, `loaded` when the function that a
    /// test passes to `duringLoad` has returned, and `changes` for each request for changes.
    private let backend: ScriptedBackend
    private let fixture: SuiteFixture
    private let defaults: DefaultsAdapter<ClientKeys>

    init() throws {
        let backend = try ScriptedBackend()
        self.backend = backend
        fixture = SuiteFixture { backend }
        defaults = fixture.adapter()
    }

    @Test
    func `A setter does not load the suite before its write is confirmed`() throws {
        backend.isServerUnreachable = true
        let defaults = fixture.adapter(timeout: .milliseconds(50))
        defaults.launchCount = 1
        // On a busy machine, the attempt may begin after the timeout.
        #expect(backend.log.wait { !$0.isEmpty })
        #expect(backend.log.all.first == "launchCount" && backend.log.count("load") == 0)
        #expect(defaults.launchCount == 1 && fixture.drainIssues() == [])
    }

    @Test
    func `A write in the outbox is sent before the suite is loaded, and is applied once`() async throws {
        let directory = try TemporaryDirectory()
        let owner = FileOwner(server: "memory", suite: backend.suite)
        // An increment of `visits` by 5.
        let change = PendingChange(
            .change(.add(.integer(5))), to: try KeyName("visits"), in: backend.suite, if: nil, requestKey: .unique(),
            PendingChange.MergePlan(base: nil, new: 5, delta: .sum(.integer(5)), valueIfUnset: 0))
        // The stored value is 1.
        _ = try await backend.write(
            PendingChange(
                .set(1), to: try KeyName("visits"), in: backend.suite, if: nil, requestKey: .unique(),
                PendingChange.MergePlan(base: nil, new: 1, delta: nil, valueIfUnset: nil)))
        do {
            // The previous run of the program ended after the daemon had carried out the write, and before the program
            // had the answer.
            var store = OutboxStore(in: directory.path, of: owner)
            try store.append(change, number: 1)
            _ = try await backend.write(change)
        }
        let earlierRequestCount = backend.log.all.count
        let session = SuiteSession(backend, outbox: OutboxStore(in: directory.path, of: owner))
        let defaults = fixture.adapter(ClientKeys(), session: session)
        try await defaults.ready()
        #expect(defaults.visits == 6)
        #expect(backend.log.all.dropFirst(earlierRequestCount).prefix(2) == ["visits", "load"])
    }

    @Test
    func `isSet of a renamed key waits at most for the timeout`() {
        let (timeout, endOfLoad) = (Duration.seconds(2), DispatchSemaphore(value: 0))
        backend.duringLoad { _ = endOfLoad.wait(timeout: .now() + 120) }
        // In these keys, `libraries` has former names. `isSet` first moves a value that is stored under a former name,
        // and then reads the setting. Both steps wait for the load.
        let defaults = fixture.adapter(RenameTests.NewKeys(), timeout: timeout)
        let start = ContinuousClock.now
        #expect(!defaults.isSet(\.libraries))
        #expect(ContinuousClock.now - start < timeout * 2)
        endOfLoad.signal()
    }

    @Test
    func `No write is sent while the suite is being loaded`() async throws {
        let defaults = fixture.adapter(writes: .background)
        backend.duringLoad {
            defaults.launchCount = 1
            // Waits until the client thread, which sends all writes, has run five further tasks. In this time, the
            // client thread could have sent the write.
            for _ in 0..<5 {
                let done = Promise<Void>()
                ClientThread.shared.execute { done.fulfill(()) }
                done.waitForever()
            }
        }
        try await defaults.ready()
        try await defaults.flush()
        #expect(backend.log.all.prefix(3) == ["load", "loaded", "launchCount"])
        // Releases the earlier closure, which retains the adapter.
        backend.duringLoad {}
    }

    @Test
    func `After a failed load, getters return defaults at once, and the client retries in the background`() async throws
    {
        backend.isServerUnreachable = true
        #expect(defaults.launchCount == 0)
        let start = ContinuousClock.now
        for _ in 0..<1000 { #expect(defaults.theme == .light && defaults["launchCount"].value == nil) }
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(await backend.log.waits(for: "load", times: 3))
        backend.isServerUnreachable = false
        try eventually { defaults.core.session.isLoaded }
        defaults.launchCount = 4
        #expect(defaults.launchCount == 4)
    }

    @Test
    func `After a confirmed write, the suite is loaded in the background`() async throws {
        backend.isServerUnreachable = true
        #expect(defaults.launchCount == 0)
        backend.isServerUnreachable = false
        defaults.launchCount = 4
        try eventually { defaults.core.session.isLoaded }
        #expect(defaults.launchCount == 4)
    }

    @Test("Concurrent async methods share attempts to load, and a later call makes another attempt")
    func sharedAttempt() async {
        backend.isServerUnreachable = true
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask { [defaults] in (try? await defaults.ready()) == nil }
            }
            for await hasFailed in group { #expect(hasFailed) }
        }
        #expect(backend.log.count("load") < 50)
        let count = backend.log.count("load")
        await #expect(throws: DefaultsError.self) { try await defaults.ready() }
        #expect(backend.log.count("load") > count)
        backend.isServerUnreachable = false
        await #expect(throws: Never.self) { try await defaults.ready() }
    }

    @Test(.timeLimit(.minutes(10)))
    func `A server that announces more pages but sends no change gets no further request`() async throws {
        try await defaults.ready()
        let cursor = try #require(defaults.core.session.cursor)
        let scope = ObservedChanges.Scope.several(
            schemas: [SuiteRevision(suite: backend.suite, revision: .zero)], dropped: [], missing: [])
        backend.setChanges(.changes(ObservedChanges(scope, cursor: cursor, changes: [], hasMore: true)))
        await #expect(throws: DefaultsError.self) { try await defaults.synchronize() }
        #expect(backend.log.count("changes") == 1)
    }
}
