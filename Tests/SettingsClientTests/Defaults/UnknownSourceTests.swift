import SettingsClientCompatibility
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// Values whose source is unknown: the client does not know if the value is stored or is the default of the schema.
@Suite(.ownThread)
struct UnknownSourceTests {
    @Test(arguments: BackendKind.allCases)
    func `A registered default is read when the server has answered that no value is stored`(_ kind: BackendKind)
        async throws
    {
        let schema = try Schema(of: ClientKeys.self) {
            \.theme; \.launchCount
        }
        let fixture = try kind.fixture(schema: schema)
        let (defaults, backend) = fixture.interruptibleAdapter(ClientKeys())
        defaults.register(defaults: ["theme": "dark"])
        #expect(defaults.launchCount == 0)
        backend.isServerUnreachable = true
        for _ in 0..<1000 { _ = defaults.theme }
        #expect((1..<100).contains(fixture.drainIssues().count), "only some of the 1000 reads send a request")
        backend.isServerUnreachable = false
        try await defaults.synchronize()
        #expect(defaults.theme == .dark)
        let requestCount = backend.counts.settingReads
        #expect((0..<100).allSatisfy { _ in defaults.theme == .dark })
        #expect(backend.counts.settingReads == requestCount && fixture.drainIssues() == [])
    }

    @Test(arguments: BackendKind.allCases)
    func `During an outage, ?= keeps its write if the value may be the default of the schema`(_ kind: BackendKind)
        async throws
    {
        let schema = try Schema(of: ClientKeys.self) {
            \.theme; \.loginTries; \.launchCount
        }
        let fixture = try kind.fixture(schema: schema)
        fixture.adapter().launchCount = 7
        let (defaults, backend) = fixture.interruptibleAdapter(ClientKeys())
        #expect(defaults.launchCount == 7)
        backend.isServerUnreachable = true
        // The first operator sends a request. The other operators send no request during the pause after its failure.
        defaults.theme ?= .light
        defaults.loginTries ?= 1
        // The value 7 is not the default of the schema, so it is stored.
        defaults.launchCount ?= 5
        #expect(defaults.launchCount == 7)
        backend.isServerUnreachable = false
        try await defaults.synchronize()
        #expect(defaults.isSet(\.theme) && defaults.isSet(\.loginTries) && defaults.launchCount == 7)
    }
}
