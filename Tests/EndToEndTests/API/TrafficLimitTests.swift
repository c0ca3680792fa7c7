import Foundation
import HTTPServer
import Platform
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

/// The limits on each client (a caller, a Unix user or an address): requests per second, connections, watchers. The
/// caller `all` of `ProtectedDaemon` has every right, and `wrong` stands for an invalid token. `Samples.schema`:
/// `count` (an integer).
@Suite(.ownThread)
struct TrafficLimitTests {
    /// Limits each client to one request per second, and five requests at once.
    private static func limitRate(_ configuration: inout Configuration) {
        configuration.rate.perSecond = 1
        configuration.rate.burst = 5
    }

    /// Sends the requests in one write, so that they arrive together, and returns the statuses of the answers.
    private func statuses(_ requests: [Request], on client: RawClient) throws -> [Int] {
        try client.send(requests.flatMap(\.bytes))
        return try requests.map { _ in try client.readResponse().status }
    }

    private static func repeated(_ count: Int, _ request: Request) -> [Request] {
        Array(repeating: request, count: count)
    }

    @Test("A caller over its rate gets 429 with Retry-After and keeps the connection; other callers are served")
    func rate() throws {
        let protected = try ProtectedDaemon(["one": ["*:read,admin"], "other": ["*:read"]], Self.limitRate)
        let request = protected.authorized("GET /v1", as: "one")
        let client = try protected.daemon.connect()
        #expect(try statuses(Self.repeated(7, request), on: client) == [200, 200, 200, 200, 200, 429, 429])
        let refused = try client.ask(request)
        #expect(refused.status == 429)
        #expect(refused.json?["code"] == "too_many_requests")
        #expect(refused.field("Retry-After") == "1")
        try OpenAPIDescription.check(refused, to: request, of: "too many")
        let unlimited = ["/healthz", "/readyz", "/metrics"].map {
            protected.authorized(Request("GET \($0)"), as: "one")
        }
        #expect(try statuses(unlimited + unlimited + unlimited, on: client) == Array(repeating: 200, count: 9))
        #expect(try protected.send("GET /v1", as: "other").status == 200)
        try eventually { try client.ask(request).status == 200 }
    }

    @Test("A pipelined write that is postponed until earlier requests are answered counts once for the rate")
    func again() throws {
        let protected = try ProtectedDaemon(["one": ["app:write"]], given: [Samples.schema]) {
            $0.rate.perSecond = 1
            $0.rate.burst = 10
        }
        let writes = (0..<11).map { protected.authorized(Request("PUT app/keys/count \($0)"), as: "one") }
        let client = try protected.daemon.connect()
        #expect(try statuses(writes, on: client) == [201] + Array(repeating: 200, count: 9) + [429])
    }

    @Test("Without a credential, the rate applies to the IPv4 address or to the /64 prefix of the IPv6 address")
    func addresses() throws {
        let daemon = try TestDaemon {
            Self.limitRate(&$0)
            // The test is a trusted proxy, so X-Forwarded-For gives the address of the client.
            $0.proxies.ranges = [AddressRange("127.0.0.1")].compactMap(\.self)
        }
        let client = try daemon.connect()
        func request(_ peer: String) -> Request { Request("GET /v1", "X-Forwarded-For: \(peer)") }
        for pair in [["192.0.2.1", "192.0.2.1"], ["2001:db8::1", "2001:db8::2"]] {
            let requests = (0..<6).map { request(pair[$0 % 2]) }
            #expect(try statuses(requests, on: client) == [200, 200, 200, 200, 200, 429])
        }
        #expect(try statuses([request("192.0.2.2"), request("2001:db8:0:1::1")], on: client) == [200, 200])
    }

    @Test("Requests with a wrong token count toward the rate of their address")
    func guesses() throws {
        let protected = try ProtectedDaemon([:]) {
            Self.limitRate(&$0)
            $0.proxies.ranges = [AddressRange("127.0.0.1")].compactMap(\.self)
        }
        var guess = protected.authorized("GET /v1", as: "wrong")
        guess.fields.append("X-Forwarded-For: 192.0.2.1")
        let client = try protected.daemon.connect()
        #expect(try statuses(Self.repeated(6, guess), on: client) == [401, 401, 401, 401, 401, 429])
    }

    @Test("Requests with a wrong token from this machine are not rate-limited")
    func localGuesses() throws {
        let protected = try ProtectedDaemon([:], Self.limitRate)
        let guesses = Self.repeated(20, protected.authorized("GET /v1", as: "wrong"))
        #expect(try statuses(guesses, on: protected.daemon.connect()) == Array(repeating: 401, count: 20))
    }

    @Test("Local programs without a credential have no rate limit; a Unix user with grants has a rate limit")
    func local() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/socket"
        let open = try TestDaemon(in: directory, data: directory.path + "/free") {
            Self.limitRate(&$0)
            $0.listen.append(.unix(path: path))
        }
        for client in [try open.connect(), try RawClient(.unix(path))] {
            #expect(try statuses(Self.repeated(20, "GET /v1"), on: client) == Array(repeating: 200, count: 20))
        }
        open.stop()
        let user = String(getuid())
        let grants = [try Grant("*:read")]
        let protected = try TestDaemon(in: directory, data: directory.path + "/protected") {
            Self.limitRate(&$0)
            $0.listen.append(.unix(path: path))
            $0.access.users = [(name: user, grants: grants)]
        }
        #expect(try statuses(Self.repeated(6, "GET /v1"), on: RawClient(.unix(path))).last == 429)
        protected.stop()
    }

    @Test("Connections over the limit of an address get 429; most of a flood of connections are closed unanswered")
    func connections() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/socket"
        let daemon = try TestDaemon(in: directory, data: directory.path + "/data") {
            $0.transport.connectionsPerAddress = 2
            $0.listen += [.tcp(host: "::1", port: 0), .unix(path: path)]
        }
        // The text of an IPv6 address begins with a bracket.
        guard case .tcp(_, let port)? = daemon.addresses.first(where: { "\($0)".hasPrefix("[") }) else {
            throw DaemonInProcess.NoPort()
        }
        for address in [RawAddress.ipv4(daemon.port), .ipv6(port), .unix(path)] {
            let accepted = [try RawClient(address), try RawClient(address)]
            for client in accepted { #expect(try client.ask("GET /v1").status == 200) }
            let refused = try RawClient(address).readResponse()
            #expect(refused.status == 429)
            #expect(refused.json?["code"] == "too_many_connections")
            #expect(refused.field("Retry-After") == "1")
            for client in accepted { #expect(try client.ask("GET /v1").status == 200) }
            accepted[0].reset()
            var next: RawClient?
            try eventually {
                next = try RawClient(address)
                return (try? next?.ask("GET /v1").status) == 200
            }
            let many = try (0..<40).map { _ in try RawClient(address) }
            #expect(many.filter { (try? $0.readResponse()) == nil }.count > 20)
            #expect(try accepted[1].ask("GET /v1").status == 200)
            withExtendedLifetime(next) {}
        }
    }

    @Test("The limit on watchers applies to each token separately")
    func watchers() throws {
        let protected = try ProtectedDaemon(["one": ["*:read"], "other": ["*:read"]], given: ["PUT app/keys/a 1"]) {
            $0.watchers.perCaller = 1
        }
        let request = Request("GET app/observe?wait=300&since=\(try protected.send("GET /v1", as: "all").cursorText)")
        let first = try WaitingClient(protected, protected.authorized(request, as: "one"))
        let answer = try protected.send(request, as: "one")
        #expect(answer.status == 429)
        #expect(answer.json?["code"] == "too_many_watchers")
        let second = try WaitingClient(protected, protected.authorized(request, as: "other"))
        withExtendedLifetime((first, second)) {}
    }

    @Test("A reload applies new limits on requests and connections")
    func reload() throws {
        let directory = try TemporaryDirectory()
        let tokens = directory.path + "/tokens.json"
        let token = try ProtectedDaemon.makeToken("one", ["*:read,admin"], in: tokens)
        func configure(_ limits: String) throws -> String {
            try directory.file("c.json", #"{"access":{"tokens":"\#(tokens)"},"limits":{\#(limits)}}"#)
        }
        let file = try configure(#""requestsPerSecond":1,"requestBurst":1000"#)
        let daemon = try TestDaemon(
            ownProcessIn: directory, data: directory.path + "/data", options: ["--config", file])
        let client = try daemon.connect()
        let request = Request("GET /v1", "Authorization: Bearer \(token)")
        let reload = Request("POST /v1/reload", "Authorization: Bearer \(token)")
        #expect(try statuses(Self.repeated(10, request), on: client).last == 200)
        _ = try configure(#""requestsPerSecond":1,"requestBurst":5"#)
        #expect(try client.ask(reload).status == 200)
        #expect(try statuses(Self.repeated(10, request), on: client).last == 429)
        // SIGHUP also reloads the configuration. The new configuration has no rate limit: 0 requests per second stands
        // for no limit.
        _ = try configure(#""requestsPerSecond":0,"connectionsPerAddress":1"#)
        try #require(daemon.process).signal(SIGHUP)
        try eventually { try client.ask(request).status == 200 }
        #expect(try statuses(Self.repeated(50, request), on: client) == Array(repeating: 200, count: 50))
        try eventually { try daemon.connect().readResponse().status == 429 }
    }
}
