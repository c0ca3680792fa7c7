import ClientTestSupport
import SettingsClient
import SettingsHTTP
import SettingsModel
import TestSupport
import Testing

private struct SecureKeys: DefaultsKeyStore {
    var theme: DefaultsKey<String> { .init("theme", defaultValue: "light") }
    var count: DefaultsKey<Int> { .init("count", defaultValue: 0) }
}

/// Adapters over TLS. `plainClient()` is a client of the same daemon without TLS.
@Suite(.ownThread)
struct SecureDefaultsTests {
    private func adapter(_ address: ServerAddress) throws -> DefaultsAdapter<SecureKeys> {
        DefaultsAdapter(
            suite: try SuiteName("app"), keyStore: SecureKeys(), server: address, timeout: .seconds(30),
            outbox: .none, writes: .confirmed, arguments: [])
    }

    @Test
    func `Settings can be read, written, changed in place and removed over https`() async throws {
        let daemon = try SecureDaemon()
        let defaults = try adapter(try daemon.address())
        defaults[\.theme] = "dark"
        defaults[\.count] += 2
        try await defaults.update(\.count) { $0 += 1 }
        #expect(defaults[\.theme] == "dark" && defaults.isSet(\.theme))
        let plain = try daemon.plainClient().blocking
        #expect(try plain.send(.setting(try KeyName("count"), in: try SuiteName("app"))).value == 3)
        defaults.removeAll()
        #expect(defaults[\.count] == 0)
        #expect(try plain.send(.suite(try SuiteName("app"))).contents.values.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func `An adapter over https gets the writes of other adapters`() async throws {
        let daemon = try SecureDaemon()
        let defaults = try adapter(try daemon.address())
        let updates = defaults.updates(of: \.theme)
        try adapter(try daemon.plainClient().address)[\.theme] = "dark"
        for await update in updates {
            #expect(update.newValue == "dark")
            break
        }
        #expect(defaults[\.theme] == "dark")
    }

    @Test
    func `An untrusted certificate is reported as an issue, and the async setter throws an error`() async throws {
        let daemon = try SecureDaemon()
        // The daemon has another certificate for this host, and the client does not trust that certificate.
        let defaults = DefaultsAdapter(
            suite: try SuiteName("app"), keyStore: SecureKeys(), server: try daemon.address(host: "127.0.0.1"),
            timeout: .seconds(3), outbox: .none, writes: .confirmed, arguments: [], log: DefaultsLog { _, _, _ in })
        var issues = defaults.issues.makeAsyncIterator()
        #expect(defaults[\.theme] == "light")
        let issue = await issues.next()
        #expect(issue.map { "\($0)".contains("certificate") } ?? false, "\(issue as Any)")
        let error = await #expect(throws: (any Error).self) { try await defaults.set(\.theme, "dark") }
        #expect("\(error as Any)".contains("certificate"), "\(error as Any)")
    }
}
