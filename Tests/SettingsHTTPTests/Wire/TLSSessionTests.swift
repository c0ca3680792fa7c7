import ClientTestSupport
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of requests over TLS. `Certificates.shared` makes this process trust the authority of the tests.
@Suite(.ownThread)
struct TLSSessionTests {
    init() throws {
        try Certificates.shared()
    }

    private func client(_ port: UInt16, timeout: Duration) throws -> DaemonClient {
        let address = try ServerAddress("https://localhost:\(port)")
        return DaemonClient(ConnectionPool(address), timeout: timeout)
    }

    @Test("The deadline applies while the server does not answer the handshake, blocking and async")
    func silentServer() async throws {
        // The kernel completes connections to this port, and no program answers.
        let port = try LocalPort()
        let client = try client(port.number, timeout: .milliseconds(100))
        let expected = SettingsError.timedOut("\(client.address): the daemon did not answer in time", outcome: .notDone)
        let blockingError = #expect(throws: SettingsError.self) { try client.blocking.send(.service) }
        #expect(blockingError == expected)
        let asyncError = await #expect(throws: SettingsError.self) { try await client.send(.service) }
        #expect(asyncError == expected)
    }

    @Test("A cancelled task does not wait until the deadline of the handshake", .timeLimit(.minutes(10)))
    func cancelled() async throws {
        let port = try LocalPort()
        let client = try client(port.number, timeout: .seconds(3600))
        let task = Task { try await client.send(.service) }
        task.cancel()
        let error = await #expect(throws: SettingsError.self) { try await task.value }
        #expect(error == .cancelled(outcome: .notDone))
    }

    @Test("An untrusted certificate ends the handshake, and the write has the outcome notDone")
    func untrustedCertificate() throws {
        let (folder, authority) = (try TemporaryDirectory(), try TestAuthority())
        try authority.makeSelfSigned("stranger", for: "localhost")
        let proxy = try SecureProxy(in: folder.path) { port in
            """
            access_log off;
            server {
                listen 127.0.0.1:\(port) ssl;
                ssl_certificate \(authority.path("stranger.pem"));
                ssl_certificate_key \(authority.path("stranger.key"));
            }
            """
        }
        let client = try client(proxy.port, timeout: .seconds(60)).blocking
        let error = #expect(throws: SettingsError.self) {
            try client.send(.set(try KeyName("theme"), to: 1, in: try SuiteName("app")))
        }
        guard case .unreachable(let reason, .notDone) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(reason.contains("no trusted authority issued the certificate of the server (self-signed certificate)"))
    }
}
