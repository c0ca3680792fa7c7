import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

/// Clients of a suite report which state of the suite they have applied. These tests check the rights for reports and
/// for lists of clients, and the credentials to which names of clients belong. The caller `all` has every right. A
/// target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct ClientRightsTests {
    @Test("A report and a request for clients need the right to read at least one key of the suite")
    func read() throws {
        let protected = try ProtectedDaemon(
            ["part": ["app/a:read"], "other": ["net:read"]], given: ["PUT app/keys/a 1"])
        let requests: [Request] = ["PUT app/clients/web {}", "GET app/clients", "GET app/observe?wait=0&client=web"]
        for request in requests {
            #expect(try protected.send(request, as: "part").status == 200, "\(request.target)")
            let refused = try protected.send(request, as: "other")
            #expect(refused.status == 403 && refused.json?["code"] == "forbidden", "\(refused.text)")
            #expect(try protected.send(request, as: nil).status == 401)
        }
        let cursor = try protected.send("GET app", as: "part").cursorText
        #expect(try protected.send(Request("GET app/clients?for=\(cursor)"), as: "other").status == 403)
        let client = try protected.send("GET app/clients", as: "all").json?["clients"]?.array?.first
        #expect(client?["caller"] == "token:part", "\(client ?? .null)")
    }

    @Test("A client that may read some keys stays current after a commit of other keys")
    func part() throws {
        let protected = try ProtectedDaemon(["part": ["app/a:read"]], given: [#"PATCH app {"a":1,"b":1}"#])
        let cursor = try protected.send("GET app", as: "part").cursorText
        let report = Request(#"PUT app/clients/web {"applied":"\#(cursor)"}"#)
        let reported = try protected.send(report, as: "part")
        #expect(reported.json?["applied"]?.string == cursor, "\(reported.text)")
        func status() throws -> JSONValue? {
            try protected.send("GET app/clients", as: "all").json?["clients"]?.array?.first?["status"]
        }
        _ = try protected.send("PUT app/keys/b 2", as: "all")
        #expect(try status() == "current")
        _ = try protected.send("PUT app/keys/a 2", as: "all")
        #expect(try status() == "behind")
    }

    @Test("A client name belongs to the credential that reported it until the status of the client is `gone`")
    func names() throws {
        let protected = try ProtectedDaemon(["a": ["*:read"], "b": ["*:read"]], given: ["PUT app/keys/a 1"]) {
            // One second, in nanoseconds.
            $0.clientForgetTime = 1_000_000_000
        }
        let cursor = try protected.send("GET app", as: "a").cursorText
        #expect(try protected.send(Request(#"PUT app/clients/web {"applied":"\#(cursor)"}"#), as: "a").status == 200)
        let refused = try protected.send("GET app/observe?wait=0&client=web", as: "b")
        #expect(refused.status == 403 && refused.json?["code"] == "forbidden")
        let detail = refused.json?["detail"]?.string ?? ""
        // A time, such as 2026-01-01T00:00:00Z, follows "free at".
        #expect(detail.contains("client \"web\"") && detail.contains("the name is free at 2"), "\(detail)")
        #expect(try protected.send("PUT app/clients/web {}", as: "a").status == 200)
        try eventually { try protected.send("PUT app/clients/web {}", as: "b").status == 200 }
        let client = try protected.send("GET app/clients", as: "all").json?["clients"]?.array?.first
        #expect(client?["caller"] == "token:b" && client?["applied"] == nil, "\(client ?? .null)")
    }

    @Test("A wait for clients returns 401 when its token is revoked")
    func revoked() throws {
        let protected = try ProtectedDaemon(["ci": ["*:read"]], given: ["PUT app/keys/a 1"])
        _ = try protected.send("PUT app/clients/web {}", as: "all")
        let cursor = try protected.send("GET app", as: "ci").cursorText
        let request = Request("GET app/clients?for=\(cursor)&wait=300")
        let peer = try WaitingClient(protected, protected.authorized(request, as: "ci"))
        try protected.changeTokens { (file: inout TokenFile) throws(ConfigurationError) in try file.revoke("ci") }
        #expect(try peer.answer().status == 401)
    }

    @Test("A refused watch of several suites records no report")
    func severalSuites() throws {
        let protected = try ProtectedDaemon(
            ["a": ["*:read"], "b": ["*:read"]], given: ["PUT app/keys/a 1", "PUT net/keys/a 1"])
        _ = try protected.send("PUT net/clients/web {}", as: "a")
        // In the suite `net`, the name `web` belongs to the token `a`.
        let refused = try protected.send("GET /v1/observe?suite=app&suite=net&wait=0&client=web", as: "b")
        #expect(refused.status == 403, "\(refused.text)")
        #expect(try protected.send("GET app/clients", as: "all").json?["clients"] == [])
    }
}
