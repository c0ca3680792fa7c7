import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// Values of which nobody has told whether they are stored or a default of the schema.
@Suite(.ownThread)
struct UnknownSourceTests {
    @Test("What is registered is read as soon as somebody tells that nothing is stored", arguments: Place.allCases)
    func whatRegisteredReadSoon(_ place: Place) async throws {
        let schema = try Schema(of: ClientKeys.self) {
            \.theme; \.launchCount
        }
        let world = try place.world(schema: schema)
        let (defaults, backend) = world.interruptedAdapter(ClientKeys())
        defaults.register(defaults: ["theme": "dark"])
        #expect(defaults.launchCount == 0)
        backend.isAway = true
        for _ in 0..<1000 { _ = defaults.theme }
        #expect((1..<100).contains(world.takeIssues().count), "nobody is asked at each read")
        backend.isAway = false
        try await defaults.synchronize()
        #expect(defaults.theme == .dark)
        let asked = backend.counts.settings
        #expect((0..<100).allSatisfy { _ in defaults.theme == .dark })
        #expect(backend.counts.settings == asked && world.takeIssues() == [])
    }
}
