import ClientTestSupport
import SettingsHTTP
import SettingsModel
import TestSupport
import Testing

/// Tests of requests over TLS through nginx to a real daemon. nginx redirects requests to the suite `moved`, and asks
/// for a password in the answer to a request to the suite `locked`. `speaksHTTP2` makes nginx offer HTTP/2, too. A
/// `plainClient` reaches the daemon without nginx. `Certificates.shared` makes this process trust the authority of the
/// tests.
@Suite(.ownThread)
struct SecureClientTests {
    private let app: SuiteName
    private let keyToEscape: KeyName

    init() throws {
        app = try SuiteName("app")
        keyToEscape = try KeyName("player/Lautstärke %2F?")
    }

    @Test(
        "Reads, writes and refusals have the expected results over https, blocking and async",
        arguments: [false, true])
    func readsWritesAndRefusals(speaksHTTP2: Bool) async throws {
        let daemon = try SecureDaemon(speaksHTTP2: speaksHTTP2)
        let client = try daemon.client()
        let created = try client.blocking.send(.set(keyToEscape, to: [1, 0.5, "ä"], in: app))
        #expect(created.isCreated)
        let changed = try await client.send(.set(keyToEscape, to: 2, in: app, .ifUnchanged(since: created.revision)))
        #expect(!changed.isCreated && changed.cursor.revision == changed.revision)
        for error in [
            #expect(throws: SettingsError.self) {
                try client.blocking.send(.set(keyToEscape, to: 3, in: app, .ifUnchanged(since: created.revision)))
            },
            await #expect(throws: SettingsError.self) {
                try await client.send(.set(keyToEscape, to: 3, in: app, .ifUnchanged(since: created.revision)))
            },
        ] {
            #expect(error?.code == .preconditionFailed && error?.outcome == .notDone, "\(error as Any)")
        }
        #expect(try client.blocking.send(.setting(keyToEscape, in: app)).value == 2)
        #expect(
            try await client.send(.setting(keyToEscape, in: app, changedFrom: changed.revision, wait: .zero)) == nil)
        try await client.send(.remove(keyToEscape, in: app))
        let removedError = #expect(throws: SettingsError.self) {
            try client.blocking.send(.setting(keyToEscape, in: app))
        }
        guard case .problem(let problem, revision: .some) = removedError else {
            Issue.record("\(removedError as Any)")
            return
        }
        #expect(problem.code == .notSet)
        #expect(try daemon.plainClient().blocking.send(.suite(app)).contents.values.isEmpty)
        let text = String(repeating: "x", count: 3_000_000)
        try await client.send(.set(keyToEscape, to: .string(text), in: app))
        #expect(try client.blocking.send(.setting(keyToEscape, in: app)).value == .string(text))
    }

    @Test(
        "A token reaches the daemon over https, and the daemon refuses a wrong token, blocking and async",
        arguments: [false, true])
    func token(speaksHTTP2: Bool) async throws {
        let folder = try TemporaryDirectory()
        let file = folder.path + "/tokens.json"
        let created = try ChildProcess.run([
            "token", "create", "ci", "--grant", "*:read,write", "--access.tokens", file,
        ])
        let daemon = try SecureDaemon(speaksHTTP2: speaksHTTP2, options: ["--access.tokens", file])
        let client = try daemon.client(token: AccessToken(created.output))
        #expect(try client.blocking.send(.caller).name == "token:ci")
        #expect(try await client.send(.set(keyToEscape, to: 1, in: app)).by == "token:ci")
        for token in [nil, AccessToken("wrong")] {
            let stranger = try daemon.client(token: token)
            let error = #expect(throws: SettingsError.self) { try stranger.blocking.send(.caller) }
            #expect(error?.code == .unauthorized, "\(error as Any)")
            let writeError = await #expect(throws: SettingsError.self) {
                try await stranger.send(.set(keyToEscape, to: 2, in: app))
            }
            #expect(writeError?.code == .unauthorized && writeError?.outcome == .notDone, "\(writeError as Any)")
        }
    }

    @Test("The client sends no cookie of an earlier answer, and sends each repeated request to the server")
    func noCookiesAndNoCache() throws {
        let daemon = try SecureDaemon()
        let client = try daemon.client().blocking
        for _ in 0..<3 { _ = try client.send(.service) }
        try waitForRequests(3, daemon)
        // A line contains the method, the path, the idempotency key and the cookie.
        #expect(try daemon.requests() == Array(repeating: ["GET", "/v1", "-", "-"], count: 3))
    }

    @Test("A redirect and a request for a password are errors, and the client does not follow the redirect")
    func redirect() async throws {
        let (daemon, client) = try SecureDaemon.withClient()
        let moved = try SuiteName("moved")
        let error = #expect(throws: SettingsError.self) { try client.blocking.send(.suite(moved)) }
        #expect(error?.status == 307)
        let writeError = await #expect(throws: SettingsError.self) {
            try await client.send(.set(keyToEscape, to: 1, in: moved))
        }
        #expect(writeError?.status == 307)
        let lockedError = await #expect(throws: SettingsError.self) {
            try await client.send(.suite(try SuiteName("locked")))
        }
        #expect(lockedError?.status == 401)
        try waitForRequests(3, daemon)
        #expect(try daemon.requests().count == 3)
    }

    /// Waits for the lines of requests in the log of nginx, which writes a line after it has sent the answer.
    private func waitForRequests(_ count: Int, _ daemon: SecureDaemon) throws {
        try eventually { try daemon.requests().count >= count }
    }

    @Test("An untrusted certificate is the reason of the error, and the write has the outcome notDone")
    func untrustedCertificate() async throws {
        let daemon = try SecureDaemon()
        // The client does not trust the certificate for this host.
        let client = DaemonClient(try daemon.address(host: "127.0.0.1"))
        let readError = await #expect(throws: SettingsError.self) { try await client.send(.service) }
        #expect(readError?.description.contains("certificate") ?? false, "\(readError?.description ?? "")")
        let writeError = #expect(throws: SettingsError.self) {
            try client.blocking.send(.set(keyToEscape, to: 1, in: app))
        }
        guard case .unreachable(let reason, .notDone) = writeError else {
            Issue.record("\(writeError as Any)")
            return
        }
        #expect(reason.contains("certificate"))
        #expect(try daemon.plainClient().blocking.send(.suites()).suites.isEmpty)
    }

    @Test("A write to a closed port has the outcome notDone") func closedPort() throws {
        try Certificates.shared()
        let client = try DaemonClient("https://localhost:\(LocalPort.free())")
        let error = #expect(throws: SettingsError.self) { try client.blocking.send(.set(keyToEscape, to: 1, in: app)) }
        guard case .unreachable(let reason, .notDone) = error, reason.contains("Connection refused") else {
            Issue.record("\(error as Any)")
            return
        }
    }
}
