import ClientTestSupport
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Callers that wait for a suite that cannot be loaded.
@Suite(.ownThread)
struct LoadingTests {
    private let backend: SilentBackend
    private let world: World
    private let defaults: DefaultsAdapter<ClientKeys>

    init() throws {
        let backend = try SilentBackend()
        self.backend = backend
        world = World { backend }
        defaults = world.adapter()
    }

    @Test("A setter does not load the suite before its write is confirmed")
    func setterBeforeLoading() throws {
        backend.isAway = true
        let defaults = world.adapter(timeout: .milliseconds(50))
        defaults.launchCount = 1
        // On a busy machine the setter may return before the write is sent.
        try eventually { !backend.log.all.isEmpty }
        #expect(backend.log.all.first == "launchCount" && backend.log.count("load") == 0)
        #expect(defaults.launchCount == 1 && world.takeIssues() == [])
    }

    @Test("After a failed load, getters give defaults at once and the background retries")
    func gettersAfterFailure() async {
        backend.isAway = true
        #expect(defaults.launchCount == 0)
        let start = ContinuousClock.now
        for _ in 0..<1000 { #expect(defaults.theme == .light && defaults["launchCount"].value == nil) }
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(await backend.log.waits(for: "load", times: 3))
        backend.isAway = false
        while !defaults.core.session.isLoaded { await Task.yield() }
        defaults.launchCount = 4
        #expect(defaults.launchCount == 4)
    }

    @Test("After a confirmed write the suite is loaded in the background")
    func loadedAfterWrite() async {
        backend.isAway = true
        #expect(defaults.launchCount == 0)
        backend.isAway = false
        defaults.launchCount = 4
        while !defaults.core.session.isLoaded { await Task.yield() }
        #expect(defaults.launchCount == 4)
    }

    @Test("Async forms at the same time share an attempt to load; a later form makes another attempt")
    func sharedAttempt() async {
        backend.isAway = true
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
        backend.isAway = false
        await #expect(throws: Never.self) { try await defaults.ready() }
    }

    @Test("A server that answers more without progress is left alone", .timeLimit(.minutes(10)))
    func serverTellsMoreSays() async throws {
        try await defaults.ready()
        let cursor = try #require(defaults.core.session.cursor)
        let scope = ObservedChanges.Scope.several(
            schemas: [SuiteRevision(suite: backend.suite, revision: .zero)], dropped: [], missing: [])
        backend.answer(news: .changes(ObservedChanges(scope, cursor: cursor, changes: [], hasMore: true)))
        await #expect(throws: DefaultsError.self) { try await defaults.synchronize() }
        #expect(backend.log.count("news") == 1)
    }
}
