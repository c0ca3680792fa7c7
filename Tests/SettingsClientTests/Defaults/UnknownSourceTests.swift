import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// Values of which it is not known if they are stored or a default of the schema.
@Suite(.ownThread)
struct UnknownSourceTests {
    @Test(arguments: BackendKind.allCases)
    func `A registered default is read as soon as the server says that nothing is stored`(_ kind: BackendKind)
        async throws
    {
        let schema = try Schema(of: ClientKeys.self) {
            \.theme; \.launchCount
        }
        let world = try kind.world(schema: schema)
        let (defaults, backend) = world.interruptedAdapter(ClientKeys())
        defaults.register(defaults: ["theme": "dark"])
        #expect(defaults.launchCount == 0)
        backend.isAway = true
        for _ in 0..<1000 { _ = defaults.theme }
        #expect((1..<100).contains(world.drainIssues().count), "not every read asks")
        backend.isAway = false
        try await defaults.synchronize()
        #expect(defaults.theme == .dark)
        let asked = backend.counts.settings
        #expect((0..<100).allSatisfy { _ in defaults.theme == .dark })
        #expect(backend.counts.settings == asked && world.drainIssues() == [])
    }
}
