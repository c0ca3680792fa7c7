import ClientTestSupport
import Dispatch
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

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

    @Test("A setter waits for its own write only") func setterWaitsOwnWrite() {
        backend.isAway = true
        defaults.launchCount = 1
        #expect(backend.log.all.first == "launchCount")
        #expect(world.takeIssues().map(\.attempt) == [.write])
    }

    @Test("After a request without an answer, getters and setters leave retries to the background")
    func afterNobodyAnsweredGetters() async {
        backend.isAway = true
        let queue = defaults.core.session.retrying
        queue.suspend()
        #expect(defaults.launchCount == 0)
        #expect(backend.log.all == ["load"])
        for number in 1...3 { defaults.launchCount = number }
        #expect(defaults.launchCount == 0 && defaults["launchCount"].value == nil && !defaults.isSet(\.theme))
        #expect(backend.log.all == ["load", "launchCount", "launchCount", "launchCount"])
        queue.resume()
        #expect(await backend.log.waits(for: "load", times: 3))
        backend.isAway = false
        while !defaults.core.session.isLoaded { await Task.yield() }
        defaults.launchCount = 4
        #expect(defaults.launchCount == 4)
    }

    @Test("After an acknowledged write the suite is loaded") func writeWasAcknowledgedSays() {
        backend.isAway = true
        #expect(defaults.launchCount == 0)
        backend.isAway = false
        defaults.launchCount = 4
        #expect(defaults.core.session.isLoaded && defaults.launchCount == 4)
    }

    @Test("A caller that waited for an attempt that failed makes no other") func whoeverWaitedAttemptFailed() {
        backend.isAway = true
        let before = ContinuousClock.now
        #expect(throws: DefaultsError.self) { try defaults.core.load(unlessFailedSince: before) }
        for _ in 0..<50 {
            #expect(throws: DefaultsError.self) { try defaults.core.load(unlessFailedSince: before) }
        }
        #expect(backend.log.count("load") == 1)
        #expect(throws: DefaultsError.self) { try defaults.core.load(unlessFailedSince: .now) }
        #expect(backend.log.count("load") == 2)
    }

    @Test("A server that answers more without progress is left alone", .timeLimit(.minutes(10)))
    func serverTellsMoreSays() async throws {
        defaults.launchCount = 1
        let cursor = try #require(defaults.core.session.cursor)
        let scope = ObservedChanges.Scope.several(
            schemas: [SuiteRevision(suite: backend.suite, revision: .zero)], dropped: [], missing: [])
        backend.answer(news: .changes(ObservedChanges(scope, cursor: cursor, changes: [], hasMore: true)))
        await #expect(throws: DefaultsError.self) { try await defaults.synchronize() }
        #expect(backend.log.count("news") == 1)
    }
}
