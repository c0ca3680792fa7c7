import HTTPServer
import Platform
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Cross-origin resource sharing (CORS): the fields that a browser requires before a page of another origin may use the
/// daemon. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct OriginTests {
    private static let origin = "https://console.example.com"
    private static let other = "http://localhost:3000"

    /// A daemon with both origins. The scheme in capitals does not matter.
    private static func daemon() throws -> TestDaemon {
        try TestDaemon { $0.origins = [origin, "HTTP://localhost:3000"] }
    }

    /// The elements of a list field, which may be split over several field lines.
    private static func list(_ name: String, of answer: RawResponse) -> [String] {
        answer.fields.filter { $0.name == name }.flatMap { $0.value.split(separator: ", ").map(String.init) }
    }

    /// Expects the fields with which a browser lets a page of the origin read the answer.
    private static func expectReadable(
        _ answer: RawResponse, from origin: String = origin, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let context: Comment = "\(answer.status) \(answer.fields)"
        let allowed = answer.fields.filter { $0.name == "Access-Control-Allow-Origin" }.map(\.value)
        #expect(allowed == [origin], context, sourceLocation: sourceLocation)
        #expect(list("Vary", of: answer).contains("Origin"), context, sourceLocation: sourceLocation)
        let exposed = list("Access-Control-Expose-Headers", of: answer)
        for name in ["ETag", "Settings-Cursor", "Settings-Source", "Retry-After", "Allow"] {
            #expect(exposed.contains(name), context, sourceLocation: sourceLocation)
        }
    }

    private static func expectNoCORSFields(_ answer: RawResponse, sourceLocation: SourceLocation = #_sourceLocation) {
        let names = answer.fields.map(\.name).filter { $0.hasPrefix("Access-Control-") }
        #expect(names == [], "\(answer.fields)", sourceLocation: sourceLocation)
    }

    static let requests: [(request: Request, status: Int)] = [
        ("GET app/keys/a", 200), ("GET app/keys/a?raw", 200), ("HEAD app/keys/a", 200), ("GET app", 200),
        ("GET app?view=stored", 200), ("GET app/keys", 200), ("GET app/schema", 404), ("GET /v1/suites", 200),
        ("GET /v1", 200), ("GET /healthz", 200), ("GET /readyz", 200), ("GET /metrics", 200),
        ("GET /openapi.json", 200),
        ("OPTIONS app", 204), ("OPTIONS *", 204), ("GET app/keys/none", 404), ("GET none", 404), ("GET /v2", 404),
        ("POST app 1", 405), ("GET app?x", 400), ("PUT app/keys/a [", 400), ("PUT app/keys/new 1", 201),
        ("PUT app/keys/a 2", 200), ("PATCH app/keys/a {\"op\":\"toggle\"}", 422), ("DELETE app/keys/a", 200),
        (Request("GET app/keys/a", "If-None-Match: *"), 304), (Request("PUT app/keys/a 3", "If-Match: \"99\""), 412),
        (Request("PUT app/keys/a 3", "Content-Encoding: gzip"), 415),
        (Request("PUT app/keys/a", "Content-Length: 16777217"), 413), (Request("GET app", "Host: evil.example"), 421),
        (Request("PUT app/keys/a \"\(String(repeating: "a", count: 100_000))\""), 200), ("GET app/observe", 200),
        ("GET app/observe?since=0", 200), ("GET app/observe?since=9&wait=0", 200), ("GET none/observe?wait=0", 404),
        ("GET app/keys/none?wait=1", 404), ("GET app/observe?since=x", 400),
    ]

    @Test("A page of a configured origin can read every answer", arguments: requests)
    func answers(request: Request, status: Int) throws {
        let daemon = try Self.daemon()
        try daemon.sendOK("PUT app/keys/a 1")
        var request = request
        request.fields.append("Origin: \(Self.origin)")
        let answer = try daemon.send(request)
        #expect(answer.status == status, "\(answer.text)")
        Self.expectReadable(answer)
    }

    @Test(
        "A page of a configured origin can use a token and read a 401; another origin gets 403 even with a token")
    func token() throws {
        let protected = try ProtectedDaemon(["page": ["app:read"]], given: ["PUT app/keys/a 1"]) {
            $0.origins = [Self.origin]
        }
        // `wrong` is no name of a token, so it is sent as an invalid token.
        for (name, status) in [("page", 200), ("wrong", 401)] {
            let answer = try protected.send(Request("GET app/keys/a", "Origin: \(Self.origin)"), as: name)
            #expect(answer.status == status)
            Self.expectReadable(answer)
        }
        #expect(try protected.send(Request("GET app/keys/a", "Origin: https://evil.example"), as: "page").status == 403)
        let preflight = try protected.send(
            Request("OPTIONS app/keys/a", "Origin: \(Self.origin)", "Access-Control-Request-Method: GET"), as: nil)
        #expect(preflight.status == 204)
        #expect(Self.list("Access-Control-Allow-Headers", of: preflight).contains("Authorization"))
    }

    @Test("A page of a configured origin can read an event stream")
    func stream() throws {
        let daemon = try Self.daemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let stream = try daemon.stream(Request("GET app/observe", "Origin: \(Self.origin)"))
        #expect(stream.head.status == 200)
        Self.expectReadable(stream.head)
        try stream.expect("state", try daemon.cursor(), #"{"values":{"a":1}}"#)
        let head = try daemon.send(
            Request("HEAD app/observe", "Origin: \(Self.origin)", "Accept: text/event-stream"))
        Self.expectReadable(head)
    }

    @Test("When one change wakes many watchers, each answer names the origin of its own page")
    func waiting() throws {
        let daemon = try Self.daemon()
        let since = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let origins = [Self.origin, nil, Self.other]
        let peers = try (0..<150).map { index in
            let fields = origins[index % 3].map { ["Origin: \($0)"] } ?? []
            let peer = try daemon.connect()
            var request = Request("GET app/observe?since=\(since)")
            request.fields = fields
            try peer.send(request.bytes)
            return peer
        }
        try daemon.awaitWatchers(peers.count)
        try daemon.sendOK("PUT app/keys/a 2")
        for (index, peer) in peers.enumerated() {
            let answer = try peer.readResponse()
            #expect(answer.status == 200)
            if let origin = origins[index % 3] {
                Self.expectReadable(answer, from: origin)
            } else {
                Self.expectNoCORSFields(answer)
            }
        }
    }

    static let preflights: [(target: String, method: String, allowed: String)] = [
        ("/v1/suites/app/keys/a", "PUT", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"),
        ("/v1/suites/app/keys/a?dryRun", "DELETE", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"),
        ("/v1/suites/app/schema", "PUT", "GET, HEAD, PUT, DELETE, OPTIONS"),
        ("/v1/transaction", "POST", "POST, OPTIONS"),
        ("/v1/suites/app/observe?since=1", "GET", "GET, HEAD, OPTIONS"),
        // A preflight for an invalid target succeeds, too. The daemon refuses only the request that follows.
        ("/v2", "PUT", "GET, HEAD, OPTIONS, PUT, PATCH, DELETE, POST"),
        ("/v1/suites/app?x", "PUT", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"),
    ]

    @Test("A preflight returns the methods, fields and maximum age", arguments: preflights)
    func preflight(target: String, method: String, allowed: String) throws {
        let daemon = try Self.daemon()
        let answer = try daemon.send(
            Request(
                "OPTIONS \(target)", "Origin: \(Self.origin)", "Access-Control-Request-Method: \(method)",
                "Access-Control-Request-Headers: content-type,if-match,settings-note,x-other"))
        #expect(answer.status == 204)
        #expect(answer.body.isEmpty)
        Self.expectReadable(answer)
        #expect(answer.field("Access-Control-Allow-Methods") == allowed)
        let names = Self.list("Access-Control-Allow-Headers", of: answer).map { $0.lowercased() }
        let expected = [
            "content-type", "authorization", "if-match", "if-none-match", "idempotency-key", "last-event-id",
            "settings-note",
        ]
        for name in expected { #expect(names.contains(name), "\(names)") }
        #expect(!names.contains("x-other"))
        #expect(answer.field("Access-Control-Max-Age").flatMap { Int($0) } ?? 0 > 0)
    }

    // The host of these requests is localhost, so http://localhost is the daemon's own origin.
    static let optionsRequests: [(fields: [String], status: Int)] = [
        (["Origin: https://evil.example"], 403), (["Origin: null"], 403),
        (["Origin: https://console.example.com.evil.example"], 403),
        (["Origin: https://evil.example", "Access-Control-Request-Method: PUT"], 403),
        (["Origin: http://localhost", "Access-Control-Request-Method: PUT"], 204), ([], 204),
    ]

    @Test(
        "OPTIONS from another origin returns 403, and from the daemon's or no origin 204, both without CORS fields",
        arguments: optionsRequests)
    func withoutCORS(fields: [String], status: Int) throws {
        let daemon = try Self.daemon()
        var request = Request("OPTIONS app/keys/a")
        request.fields = fields
        let answer = try daemon.send(request)
        #expect(answer.status == status)
        Self.expectNoCORSFields(answer)
        #expect(Self.list("Vary", of: answer).contains("Origin"))
    }

    @Test("Without configured origins, answers have no CORS fields")
    func unconfigured() throws {
        let daemon = try TestDaemon()
        let answer = try daemon.send(Request("GET /v1", "Origin: http://localhost"))
        Self.expectNoCORSFields(answer)
        #expect(!Self.list("Vary", of: answer).contains("Origin"))
    }
}

/// The host names and the origins that the daemon accepts.
@Suite(.ownThread)
struct HostTests {
    private static func daemon() throws -> TestDaemon {
        try TestDaemon {
            $0.hosts = ["Settings.example"]
            $0.origins = ["https://Console.example:8443"]
        }
    }

    static let hosts: [(host: String, isAdmitted: Bool)] = [
        ("localhost", true), ("LocalHost", true), ("localhost:7070", true), ("[::1]:7070", true),
        ("localhost.evil.example", false), ("settings.EXAMPLE", true), ("127.0.0.1", true), ("0.0.0.0", true),
        ("203.0.113.9", true), ("[::1]", true), ("[2001:DB8::1]", true), ("[::ffff:127.0.0.1]", true), ("", false),
        ("localhost.", false), ("settings.example.", false), ("a.settings.example", false),
        ("settings.example.evil", false),
        ("127.0.0.1.nip.io", false), ("127.1", false), ("2130706433", false), ("0x7f.0.0.1", false),
        ("256.0.0.1", false),
        ("::1", false), ("[]", false), ("[::1", false), ("[localhost]", false), ("localhost.localdomain", false),
    ]

    @Test("A request is accepted if its Host is an address, localhost or a configured name")
    func hosts() throws {
        let daemon = try Self.daemon()
        var peer = try daemon.connect()
        // The daemon first compares a host with the last admitted host. The reverse order sends each host after a
        // different host.
        for (host, isAdmitted) in Self.hosts + Self.hosts.reversed() {
            let answer = try peer.ask(Request("GET /healthz", "Host: \(host)"))
            // A malformed Host is an HTTP error (400) and not an unknown name (421).
            #expect(isAdmitted ? answer.status == 200 : [400, 421].contains(answer.status), "\(host): \(answer.text)")
            if answer.field("Connection") == "close" { peer = try daemon.connect() }
        }
    }

    static let origins: [(origin: String, host: String?, port: String?, isAdmitted: Bool)] = [
        ("http://localhost:7070", "localhost", "7070", true), ("HTTP://LOCALHOST:7070", "localhost", "7070", true),
        ("https://settings.example", "settings.example", nil, true), ("http://[::1]:7070", "[::1]", "7070", true),
        ("https://console.example:8443", "localhost", "7070", true), ("http://localhost", "localhost", "7070", false),
        ("http://localhost:3000", "localhost", "7070", false), ("http://127.0.0.1:7070", "localhost", "7070", false),
        ("https://console.example", "localhost", nil, false), ("http://console.example:8443", "localhost", nil, false),
        ("null", "localhost", nil, false), ("", "localhost", nil, false), ("file://", "localhost", nil, false),
        ("http://localhost.evil.example", "localhost", nil, false), ("localhost", "localhost", nil, false),
        ("ftp://localhost", "localhost", nil, false),
        ("http://localhost", nil, nil, false), ("https://console.example:8443", nil, nil, true),
    ]

    @Test("A page may use the daemon if its origin is the daemon itself or a configured origin")
    func pages() throws {
        let daemon = try Self.daemon()
        for (origin, host, port, isAdmitted) in Self.origins {
            let authority = host.map { "Host: " + $0 + (port.map { ":" + $0 } ?? "") }
            // A request with the text `Host`, without a colon, has no Host field. HTTP/1.0 allows this.
            let request = Request("GET /healthz", "Origin: \(origin)", authority ?? "Host")
            let answer = try daemon.send(host == nil ? request.with(version: "HTTP/1.0") : request)
            #expect(answer.status == (isAdmitted ? 200 : 403), "\(origin), \(authority ?? ""): \(answer.text)")
        }
    }
}

/// The host names that a daemon with several listen addresses accepts on each address.
@Suite(.ownThread)
struct ListenTests {
    private static let hasIPv6 = (try? Listener.open(.tcp(host: "::1", port: 0))) != nil

    @Test("With several listen addresses, each address accepts the host names of all addresses", .enabled(if: hasIPv6))
    func names() throws {
        let daemon = try TestDaemon {
            $0.listen = [
                .tcp(host: "127.0.0.1", port: 0), .tcp(host: "localhost", port: 0), .tcp(host: "::1", port: 0),
            ]
        }
        #expect(daemon.addresses.count >= 3)
        for address in daemon.addresses {
            guard case .tcp(let host, let port) = address else { continue }
            for name in ["localhost", "127.0.0.1", "[::1]"] {
                let client = try RawClient(host == "::1" ? .ipv6(port) : .ipv4(port))
                try client.send(Request("GET /v1", "Host: \(name):\(port)").bytes)
                #expect(try client.readResponse().status == 200, "\(name) on \(address)")
            }
        }
    }

    /// Requests with their status over a Unix domain socket and over TCP. A request with the text `Host`, without a
    /// colon, has no Host field.
    static let requests: [(request: Request, socketStatus: Int, tcpStatus: Int)] = [
        (Request("GET /v1", "Host: localhost"), 200, 200), (Request("GET /v1", "Host: settingsd"), 200, 421),
        (Request("GET /v1", "Host: any.example:80"), 200, 421), (Request("GET /v1", "Host: "), 200, 421),
        (Request("PUT app/keys/a 1", "Host: any.example"), 201, 421),
        (Request("GET /v1", "Host: a b"), 400, 400), (Request("GET /v1", "Host"), 400, 400),
        // A request with an origin comes from a web page through a proxy, so a Unix domain socket checks its host, too.
        (Request("GET /v1", "Host: any.example", "Origin: http://any.example"), 421, 421),
        (Request("GET /v1", "Host: localhost", "Origin: http://any.example"), 403, 403),
        (Request("GET /v1", "Host: localhost", "Origin: http://localhost"), 200, 200),
        // Over TCP, the daemon checks the host before the announced length of the body.
        (Request("PUT app/keys/a 1", "Host: any.example", "Content-Length: 99999999999"), 413, 421),
    ]

    @Test(
        "Without an Origin, a Unix domain socket accepts any well-formed Host; TCP accepts only the daemon's names",
        arguments: requests)
    func hosts(request: Request, socketStatus: Int, tcpStatus: Int) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/socket"
        let daemon = try TestDaemon { $0.listen = [.tcp(host: "127.0.0.1", port: 0), .unix(path: path)] }
        #expect(daemon.addresses.last == .unix(path: path))
        let client = try RawClient(.unix(path))
        #expect(try client.ask(request).status == socketStatus)
        #expect(try daemon.send(request).status == tcpStatus)
    }
}
