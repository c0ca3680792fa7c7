import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

/// Access control, as docs/explanation/access.md describes it. Each endpoint is requested without a credential, with a
/// wrong or expired credential, with a credential that lacks a right, and with exactly the required rights. The token
/// `all` of `ProtectedDaemon` has every right, the token `expired` has expired, and `wrong` is no token. A target such
/// as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct AccessTests {
    /// A request, and the rights on the suite `app` or on the service that it requires.
    struct Endpoint: Sendable, CustomTestStringConvertible {
        let request: Request
        let rights: [String]
        let status: Int

        init(_ request: Request, _ rights: String..., status: Int = 200) {
            self.request = request
            self.rights = rights
            self.status = status
        }

        var testDescription: String { "\(request.method) \(request.target)" }
    }

    /// The three writes before each request, with the revisions 1 to 3.
    static let given: [Request] = [
        """
        PUT app/schema {"additionalProperties":{},"properties":{"fixed":{"readOnly":true,"default":1},\
        "secret":{"writeOnly":true}}}
        """,
        "PUT app/keys/a 1", "PUT app/keys/list [1]",
    ]

    static let endpoints: [Endpoint] = [
        Endpoint("GET app/keys/a", "read"), Endpoint("HEAD app/keys/a", "read"), Endpoint("GET app/keys/a?raw", "read"),
        Endpoint("GET app/keys/a?wait=1", "read"), Endpoint("GET app", "read"), Endpoint("GET app?at=2", "read"),
        Endpoint("GET app?raw", "read"), Endpoint("GET app/keys", "read"), Endpoint("GET app/schema", "read"),
        Endpoint("GET app/observe", "read"), Endpoint("GET app/observe?since=0", "read"),
        Endpoint("GET /v1/observe?suite=app", "read"), Endpoint("OPTIONS app", "read", status: 204),
        Endpoint("PUT app/keys/a 2", "write"), Endpoint("PUT app/keys/new 2", "write", status: 201),
        Endpoint("PUT app/keys/a?dryRun 2", "write"), Endpoint(#"PATCH app/keys/a {"op":"add","by":1}"#, "write"),
        Endpoint("DELETE app/keys/a", "write"), Endpoint(#"PATCH app {"a":2}"#, "write"),
        Endpoint(#"PUT app {"a":2}"#, "write"), Endpoint("DELETE app", "write"),
        Endpoint("DELETE app?prefix=a", "write"),
        Endpoint("DELETE app?drop", "write", "schema"), Endpoint("PUT app/keys/secret 1", "write", status: 201),
        Endpoint("PUT app/keys/fixed?override=locked 2", "write", "override", status: 201),
        Endpoint(#"PATCH app?override=locked {"fixed":2}"#, "write", "override"),
        Endpoint("DELETE app?override=locked", "write", "override"),
        Endpoint(#"PUT app/schema {"additionalProperties":{}}"#, "schema"), Endpoint("DELETE app/schema", "schema"),
        Endpoint(#"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"a","value":3}]}"#, "write"),
        Endpoint(
            #"POST /v1/transaction {"if":[{"suite":"app","revision":0}],"do":[]}"#, "read", status: 412),
        Endpoint(
            #"POST /v1/transaction?override=locked {"do":[{"op":"set","suite":"app","key":"fixed","value":3}]}"#,
            "write", "override"),
        Endpoint("GET app/history", "read"), Endpoint("GET app/diff?from=0", "read"),
        Endpoint("GET app/keys/a?at=2", "read"), Endpoint("GET app/schema?at=1", "read"),
        Endpoint(#"POST app/undo {"revision":2}"#, "write"), Endpoint(#"POST /v1/undo {"revision":2}"#, "write"),
        Endpoint(#"POST app/undo {"revision":1}"#, "write", "schema"),
        Endpoint(#"POST app/restore {"to":2}"#, "write"), Endpoint(#"POST app/restore {"to":2,"keys":["a"]}"#, "write"),
        Endpoint(#"POST app/restore?override=locked {"to":2}"#, "write", "override"),
        Endpoint("GET /metrics", "metrics"), Endpoint("GET /v1/backup", "admin"), Endpoint("HEAD /v1/backup", "admin"),
        Endpoint("POST /v1/reload", "reload"), Endpoint("GET /v1/cluster", "metrics"),
    ]

    static let rightsOnSuites = ["read", "write", "schema", "secrets", "override"]
    static let rightsOnService = ["metrics", "reload", "admin"]
    static let allRights = rightsOnSuites + rightsOnService

    @Test("An endpoint requires a valid credential with each right that the table lists", arguments: endpoints)
    func rights(endpoint: Endpoint) throws {
        var grants = [
            "expired": ["*:\(Self.allRights.joined(separator: ","))"],
            "enough": ["*:\(endpoint.rights.joined(separator: ","))"],
        ]
        for right in endpoint.rights {
            // Every other right on a suite includes the right to read the suite, and `admin` includes the other rights
            // on the service.
            let others =
                right == "read"
                ? ["admin"]
                : Self.allRights.filter { $0 != right && !($0 == "admin" && Self.rightsOnService.contains(right)) }
            grants["lacks-\(right)"] = ["*:\(others.joined(separator: ","))"]
            if Self.rightsOnSuites.contains(right) {
                // The pattern `app.*` does not match the suite `app`.
                grants["elsewhere-\(right)"] = ["app.*:\(Self.rightsOnSuites.joined(separator: ","))"]
            }
        }
        let protected = try ProtectedDaemon(grants, given: Self.given)
        let before = try protected.send("GET app", as: "all").text
        for name in [nil, "wrong", "expired"] {
            let answer = try protected.send(endpoint.request, as: name)
            #expect(answer.status == 401, "\(name ?? "none"): \(answer.text)")
            #expect(answer.field("WWW-Authenticate") == "Bearer")
            if endpoint.request.method != "HEAD" { #expect(answer.json?["code"] == "unauthorized") }
            try OpenAPIDescription.check(answer, to: endpoint.request, of: endpoint.testDescription)
        }
        // The callers `lacks-…` and `elsewhere-…` lack a right.
        for name in grants.keys.sorted() where name.contains("-") {
            let answer = try protected.send(endpoint.request, as: name)
            #expect(answer.status == 403, "\(name): \(answer.text)")
            #expect(answer.field("WWW-Authenticate") == nil)
            if endpoint.request.method != "HEAD" { #expect(answer.json?["code"] == "forbidden") }
        }
        #expect(try protected.send("GET app", as: "all").text == before, "a refused request must change nothing")
        let answer = try protected.send(endpoint.request, as: "enough")
        #expect(answer.status == endpoint.status, "\(answer.text)")
    }

    @Test("The right admin includes metrics and reload; metrics and reload do not allow a backup or reading settings")
    func service() throws {
        let protected = try ProtectedDaemon(
            ["admin": ["*:admin"], "metrics": ["*:metrics"], "reload": ["*:reload"]], given: Self.given)
        let requests: [Request] = ["GET /metrics", "GET /v1/cluster", "POST /v1/reload", "GET /v1/backup", "GET app"]
        func statuses(_ name: String) throws -> [Int] { try requests.map { try protected.send($0, as: name).status } }
        #expect(try statuses("admin") == [200, 200, 200, 200, 403])
        #expect(try statuses("metrics") == [200, 200, 403, 403, 403])
        #expect(try statuses("reload") == [403, 403, 200, 403, 403])
        // The error names the missing grant.
        #expect(try protected.send("GET /metrics", as: "reload").text.contains("*:metrics"))
        #expect(
            try protected.send("GET /v1/caller", as: "metrics").text
                == #"{"name":"token:metrics","grants":["*:metrics"]}"#)
    }

    @Test(
        "A refusal is the same whether the suite and the key exist or not",
        arguments: endpoints)
    func existence(endpoint: Endpoint) throws {
        let protected = try ProtectedDaemon(["admin": ["*:admin"], "other": ["other:read"]], given: Self.given)
        /// Sends the request with the name `suite` in place of `app`. Returns the answer as a text, with `…` in place
        /// of the name of the suite.
        func refusal(_ request: Request, _ suite: String, as name: String?) throws -> String {
            var request = request
            request.target = request.target.replacing("/app", with: "/\(suite)").replacing("=app", with: "=\(suite)")
            request.body = Array(
                String(decoding: request.body, as: UTF8.self).replacing("\"app\"", with: "\"\(suite)\"").utf8)
            let answer = try protected.send(request, as: name)
            let fields = answer.fields.filter { $0.name != "Date" }.map { "\($0.name): \($0.value)" }
            return
                "\(answer.status) \(fields) \(answer.text.replacing(" \(suite)", with: " …").replacing(" \(suite):", with: " …:"))"
        }
        // The suite `zzz` does not exist. The right `admin` includes the rights on the service, so the daemon does not
        // refuse the requests of the caller `admin` that require a right on the service.
        for name in ["admin", "other", nil]
        where !(name == "admin" && Self.rightsOnService.contains(endpoint.rights[0])) {
            let forExisting = try refusal(endpoint.request, "app", as: name)
            #expect(forExisting.hasPrefix(name == nil ? "401" : "403"), "\(forExisting)")
            #expect(try refusal(endpoint.request, "zzz", as: name) == forExisting)
        }
    }

    static let publicRequests: [Request] = ["GET /healthz", "GET /readyz", "HEAD /healthz", "OPTIONS /readyz"]

    @Test("Health and readiness require no credential and ignore a wrong credential", arguments: publicRequests)
    func health(request: Request) throws {
        let protected = try ProtectedDaemon([:])
        #expect(try protected.send(request, as: nil).status < 300)
        #expect(try protected.send(request, as: "wrong").status < 300)
    }

    static let requestsWithoutSuite: [Request] = [
        "GET /v1", "GET /openapi.json", "GET /v1/suites", "GET /v1/caller", "OPTIONS /v1/suites", "OPTIONS *",
        "GET /v1/observe?suitePrefix=",
    ]

    @Test(
        "A request that concerns no suite requires a valid credential, and any grant is sufficient",
        arguments: requestsWithoutSuite)
    func someGrant(request: Request) throws {
        let protected = try ProtectedDaemon(["some": ["other:read"]], given: Self.given)
        #expect(try protected.send(request, as: nil).status == 401)
        #expect(try protected.send(request, as: "wrong").status == 401)
        let answer = try protected.send(request, as: "some")
        #expect(answer.status < 300, "\(answer.text)")
        #expect(!answer.text.contains("\"app\""), "\(answer.text)")
    }

    /// Requests with several errors, the name of their token, and the expected status. A body of 16777217 bytes is over
    /// the limit.
    static let order: [(request: Request, name: String?, status: Int)] = [
        ("GET /v2", nil, 401), ("GET /v2", "other", 404), ("POST app/keys/a 1", nil, 401),
        ("POST app/keys/a 1", "other", 403), ("POST app/keys/a 1", "reads", 405), ("PUT app/keys/a [", "reads", 403),
        (Request("PUT app/keys/a", "Content-Length: 16777217"), nil, 401),
        (Request("PUT app/keys/a", "Content-Length: 16777217"), "reads", 403),
        (Request("GET app", "Host: evil.example"), nil, 421),
        (Request("GET app", "Origin: https://evil.example"), nil, 403),
        (Request("PUT none/keys/a 1", "If-Match: *"), "reads", 403), ("GET none", "reads", 404),
        (Request("PUT app/keys/a 1", "Content-Encoding: gzip"), "reads", 403),
    ]

    @Test(
        "401 and 403 precede errors in path, method, length, body and suite, and follow errors in Host and Origin",
        arguments: order)
    func decided(request: Request, name: String?, status: Int) throws {
        let protected = try ProtectedDaemon(["other": ["other:read"], "reads": ["*:read"]], given: Self.given)
        let answer = try protected.send(request, as: name)
        #expect(answer.status == status, "\(answer.text)")
    }

    static let malformed = [
        "Authorization: Basic YTpi", "Authorization: Bearer", "Authorization: Bearer ", "Authorization: Bearer a b",
        "Authorization: TOKEN", "Authorization: Bearer\tTOKEN", "Authorization:",
    ]

    @Test(
        "A malformed bearer token or another scheme returns 401, also if anonymous callers have full access",
        arguments: malformed)
    func malformedField(field: String) throws {
        let protected = try ProtectedDaemon([:]) { $0.access.anonymous = [.everything] }
        let field = field.replacing("TOKEN", with: protected.tokens["all"] ?? "")
        #expect(try protected.daemon.send(Request("GET /v1", field)).status == 401)
        #expect(try protected.daemon.send("GET /v1").status == 200)
        let scheme = "authorization: bEARER   \(protected.tokens["all"] ?? "")"
        #expect(try protected.daemon.send(Request("GET /v1", scheme)).status == 200)
    }

    @Test("GET /v1/caller returns the name and the grants of the caller")
    func caller() throws {
        let protected = try ProtectedDaemon(["ci": ["app.*:write,read", "b/k.*:read"]]) {
            $0.access.anonymous = (try? [Grant("open:read")]) ?? []
        }
        #expect(
            try protected.send("GET /v1/caller", as: "ci").text
                == #"{"name":"token:ci","grants":["app.*:read,write","b/k.*:read"]}"#)
        #expect(try protected.send("GET /v1/caller", as: nil).text == #"{"name":"anonymous","grants":["open:read"]}"#)
        // Without access control, every caller has all rights.
        #expect(
            try TestDaemon().send("GET /v1/caller").text
                == #"{"name":"anonymous","grants":["*:read,write,schema,secrets,override,admin"]}"#)
    }

    @Test("Anonymous callers have their grants, and get 401 for anything else")
    func anonymous() throws {
        let protected = try ProtectedDaemon([:], given: ["PUT open/keys/a 1", "PUT app/keys/a 1"]) {
            $0.access.anonymous = (try? [Grant("open:read")]) ?? []
            $0.access.opensMetrics = true
        }
        #expect(try protected.send("GET open/keys/a", as: nil).status == 200)
        #expect(try protected.send("PUT open/keys/a 2", as: nil).status == 401)
        #expect(try protected.send(#"POST open/undo {"revision":1}"#, as: nil).status == 401)
        #expect(try protected.send("GET app/keys/a", as: nil).status == 401)
        #expect(try protected.send("GET open/keys/a", as: "wrong").status == 401)
        #expect(try protected.send("GET /metrics", as: nil).status == 200)
    }

    @Test(
        "A transaction requires the rights for all its conditions and operations; a 403 points to the first refusal"
    )
    func transaction() throws {
        let protected = try ProtectedDaemon(
            ["a": ["a:write", "b:read"], "ab": ["a:write", "b/k:write"]], given: ["PUT a/keys/k 1", "PUT b/keys/k 1"])
        let request: Request = #"""
            POST /v1/transaction {"do":[{"op":"set","suite":"a","key":"k","value":2},{"op":"add","suite":"b","key":"k","by":1}]}
            """#
        let refused = try protected.send(request, as: "a")
        #expect(refused.status == 403)
        #expect(refused.json?["pointer"] == "/do/1")
        #expect(refused.json?["detail"]?.string?.contains("b/k:write") == true, "\(refused.text)")
        #expect(try protected.send("GET a/keys/k?raw", as: "all").text == "1")
        #expect(try protected.send(request, as: "ab").status == 200)
        let condition: Request = #"""
            POST /v1/transaction {"if":[{"suite":"c","key":"k","stored":false}],"do":[{"op":"delete","suite":"a","key":"k"}]}
            """#
        #expect(try protected.send(condition, as: "ab").json?["pointer"] == "/if/0")
    }

    @Test("Commits, settings and changes carry the name of the caller")
    func names() throws {
        let protected = try ProtectedDaemon(["ci": ["app:write"]]) {
            $0.access.anonymous = (try? [Grant("open:write")]) ?? []
        }
        #expect(
            try protected.send(Request("PUT app/keys/a 1", "Settings-Note: why"), as: "ci").json?["by"] == "token:ci")
        #expect(try protected.send("PUT open/keys/a 1", as: nil).json?["by"] == "anonymous")
        let setting = try protected.send("GET app/keys/a", as: "all").json
        #expect(setting?["by"] == "token:ci" && setting?["note"] == "why")
        let change = try protected.send("GET app/observe?since=0", as: "all").json?["changes"]?.array?.first
        #expect(change?["by"] == "token:ci")
    }

    @Test("A repeated undo returns the first answer, also after the undone commit has left the history")
    func replayedUndo() throws {
        let protected = try ProtectedDaemon(["a": ["app:write"]]) {
            $0.history.commits = 4
            $0.history.suiteCommits = 0
        }
        for value in 1...2 { _ = try protected.send(Request("PUT app/keys/k \(value)"), as: "a") }
        let undo = Request(#"POST app/undo {"revision":2}"#, "Idempotency-Key: u")
        let first = try protected.send(undo, as: "a")
        #expect(first.status == 200)
        for value in 0..<3 { _ = try protected.send(Request("PUT app/keys/other \(value)"), as: "a") }
        // There are six commits, of which the history has the last four.
        #expect(try protected.send(#"POST app/undo {"revision":2}"#, as: "a").status == 410)
        let again = try protected.send(undo, as: "a")
        #expect(again.status == 200 && again.json?["replayed"] == true, "\(again.text)")
        #expect(again.json?["changes"] == first.json?["changes"])
    }

    @Test("A caller does not receive the answer of another caller with the same idempotency key")
    func replay() throws {
        let protected = try ProtectedDaemon(["a": ["app:write"], "b": ["app:write"]])
        let request = Request("PUT app/keys/k 1", "Idempotency-Key: same")
        #expect(try protected.send(request, as: "a").status == 201)
        #expect(try protected.send(request, as: "a").json?["replayed"] == true)
        // For `b`, this is a first write, of the value that is already stored.
        let other = try protected.send(request, as: "b").json
        #expect(other?["replayed"] == nil && other?["changed"] == false)
    }
}
