import SettingsClient
import SettingsClientTesting
import TestSupport
import Testing

// The code of the article SettingsClientTesting, and a test that runs it. ArticleCodeTests checks that this target
// contains the code of the articles.

struct SpeakerKeys: DefaultsKeyStore {
    var volume: DefaultsKey<Double> { .init("volume", defaultValue: 0.5, in: 0...1) }
}

func makeSettings() -> DefaultsAdapter<SpeakerKeys> {
    DefaultsAdapter.inMemory(keyStore: SpeakerKeys(), values: ["volume": 0.8])
}

func testOutage() async throws {
    let clock = TestClock()
    let daemon = TestDaemon(clock: clock)
    let settings = DefaultsAdapter.inMemory(keyStore: SpeakerKeys(), daemon: daemon)
    try await settings.ready()
    daemon.setCondition(.away)
    settings.volume = 0.7  // The write waits.
    #expect(settings.volume == 0.7 && daemon.value(forKey: "volume") == nil)
    try #require(await clock.waitForPause())  // The client has tried to send the write, and pauses.
    daemon.setCondition(.available)
    clock.advance(by: .seconds(10))  // The pause ends, and the client sends the write again.
    try await settings.flush()
    #expect(daemon.value(forKey: "volume") == 0.7)
}

func testUnconfirmedChange() async throws {
    let clock = TestClock()
    let daemon = TestDaemon(values: ["volume": 0.8], clock: clock)
    let settings = DefaultsAdapter.inMemory(keyStore: SpeakerKeys(), daemon: daemon)
    try await settings.set(\.volume, 1, .confirm(within: .seconds(120)))
    clock.advance(by: .seconds(120))  // The program has not confirmed the change.
    #expect(daemon.value(forKey: "volume") == 0.8)
}

@Suite(.ownThread)
struct SettingsClientTestingTests {
    @Test("The functions of the article behave as the article says")
    func functions() async throws {
        #expect(makeSettings().volume == 0.8)
        try await testOutage()
        try await testUnconfirmedChange()
    }
}
