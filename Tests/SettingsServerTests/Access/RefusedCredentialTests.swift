import Platform
import SettingsAPI
import SettingsEngine
import SettingsWeb
import TestSupport
import Testing

/// The log messages about refused credentials.
@Suite(.ownThread)
struct RefusedCredentialTests {
    private let directory: TemporaryDirectory
    private let time = ManualClock()
    private let lines = EventLog()
    private let server: APIServer
    private let expiredToken: String

    init() throws {
        directory = try TemporaryDirectory()
        let file = directory.path + "/tokens.json"
        expiredToken = try TokenFile.change(at: file) { (tokens: inout TokenFile) throws(ConfigurationError) in
            try tokens.create("ci", [.everything], expires: Timestamp(milliseconds: 5), now: Timestamp(milliseconds: 0))
        }
        server = try APIServer(clock: time.clock, warn: { [lines] in lines.add($0) })
        var options = AccessOptions()
        options.tokens = file
        var policies = Policies()
        policies.access = try AccessPolicy(options, clock: { Timestamp(milliseconds: 10) })
        // The test is a trusted proxy, so `X-Forwarded-For` determines the address of the client.
        policies.proxies.ranges = [AddressRange("127.0.0.1")].compactMap(\.self)
        server.policies.replacePolicies(with: policies)
    }

    /// Sends a request with these header fields, each with its line break. Returns the status of the answer.
    private func status(_ fields: String, to methodAndPath: String = "GET /v1") throws -> Int {
        let client = try server.connect()
        try client.send("\(methodAndPath) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
        return try client.readResponse().status
    }

    @Test("The log line of a refused credential names the client and the reason, and does not contain the token")
    func names() throws {
        // The event loop logs at most one refusal per second.
        #expect(try status("Authorization: Bearer \(expiredToken)\r\nX-Forwarded-For: 192.0.2.7\r\n") == 401)
        time.advance(seconds: 1)
        #expect(try status("X-API-Key: wrong-0123456789\r\n") == 401)
        time.advance(seconds: 1)
        // The body would exceed the limit of 16 MiB by a byte. The request is refused before its body is sent.
        let large = "Authorization: Basic x\r\nX-Forwarded-For: 192.0.2.8\r\nContent-Length: 16777217\r\n"
        #expect(try status(large, to: "PUT /v1/suites/app/keys/a") == 401)
        #expect(
            lines.all.map { String($0.prefix { $0 != ";" }) } == [
                "cannot authenticate token:ci from 192.0.2.7: the token expired at 1970-01-01T00:00:00.005Z",
                "cannot authenticate a client at 127.0.0.1: the daemon does not know the token",
                """
                cannot authenticate a client at 192.0.2.8: \
                the field Authorization must be the word Bearer and a token
                """,
            ])
        #expect(!lines.all.contains { $0.contains(expiredToken) || $0.contains("0123456789") })
    }

    @Test("An event loop logs at most one refused credential per second, with the number of unlogged refusals")
    func rate() throws {
        for _ in 0..<3 { #expect(try status("Authorization: Bearer wrong\r\n") == 401) }
        #expect(lines.all.count == 1)
        time.advance(seconds: 1)
        for _ in 0..<2 { #expect(try status("Authorization: Bearer wrong\r\n") == 401) }
        #expect(lines.all.count == 2)
        #expect(lines.all.last?.hasSuffix(" (the log left out 2 more refusals)") == true, "\(lines.all)")
    }

    @Test("A request without a credential is not logged") func missing() throws {
        #expect(try status("") == 401)
        #expect(lines.all == [])
    }
}
