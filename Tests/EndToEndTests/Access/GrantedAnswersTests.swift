import Foundation
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

/// Tags, cursors and cache fields of answers that depend on the grants of the caller. For a caller that may not read
/// everything, tags can have a suffix, and the epoch of the cursors is derived from the epoch of the daemon. The caller
/// `all` of `ProtectedDaemon` has every right. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct GrantedAnswersTests {
    private static let writesBeforeTest: [Request] = [
        #"""
        PUT app/schema {"additionalProperties":{},"properties":{"password":{"writeOnly":true,"type":"string"},"a":{}}}
        """#,
        "PUT app/keys/a 1", "PUT app/keys/b 2", #"PUT app/keys/password "hunter2""#,
    ]

    /// The grants of the tokens by name.
    private static let grants = [
        "reads": ["app:read"], "writes": ["app:write"], "some": ["app/a:write"], "sees": ["*:read,secrets"],
    ]

    /// A daemon with the writes, and with the grants of the tokens by name.
    private func protected(_ grants: [String: [String]] = grants) throws -> ProtectedDaemon {
        try ProtectedDaemon(grants, given: Self.writesBeforeTest)
    }

    private func tag(_ answer: RawResponse) throws -> String { try #require(answer.field("ETag")) }

    static let targets = ["app", "app?raw", "app?at=3", "app/keys", "app/keys/password"]

    @Test("A caller's own tag gets 304, and the tag of a caller with other grants gets 200", arguments: targets)
    func tags(target: String) throws {
        let protected = try protected([
            "reads": ["app:read"], "same": ["app:read"], "some": ["app/password:read", "app/a:read"],
        ])
        func read(_ name: String, ifNot known: String) throws -> RawResponse {
            try protected.send(Request("GET \(target)", "If-None-Match: \(known)"), as: name)
        }
        let tags = try ["all", "reads", "some"].map { try tag(try protected.send(Request("GET \(target)"), as: $0)) }
        #expect(Set(tags).count == 3, "\(tags)")
        // The tag of a caller with every right is a revision; the tags of other callers have a suffix.
        #expect(EntityTag(tags[0]).map { $0.description == "\"\($0.revision)\"" } == true)
        #expect(tags[1].hasPrefix(String(tags[0].dropLast()) + "-"))
        for (name, own) in zip(["all", "reads", "some"], tags) {
            for tag in tags {
                let answer = try read(name, ifNot: tag)
                #expect(answer.status == (tag == own ? 304 : 200), "\(name) \(tag)")
                #expect(answer.field("ETag") == own)
            }
        }
        #expect(try read("same", ifNot: tags[1]).status == 304)
        #expect(try read("reads", ifNot: "W/\(tags[1])").status == 304)
        #expect(try read("reads", ifNot: "\(tags[0]), \(tags[2])").status == 200)
    }

    @Test("A setting has the same tag for all callers that may read its value")
    func plain() throws {
        let protected = try protected()
        let tags = try ["all", "reads", "some", "sees"].map { try tag(try protected.send("GET app/keys/a", as: $0)) }
        #expect(Set(tags).count == 1)
        let secret = try ["all", "sees"].map { try tag(try protected.send("GET app/keys/password", as: $0)) }
        #expect(Set(secret).count == 1)
    }

    @Test("The tag of a list of keys depends on the right to write")
    func writable() throws {
        let protected = try protected()
        let tags = try ["all", "sees"].map { try tag(try protected.send("GET app/keys", as: $0)) }
        #expect(tags[0] != tags[1])
    }

    @Test("If-Match accepts the caller's own tag, the tag of another caller, and a plain revision")
    func guards() throws {
        let protected = try protected()
        for target in ["app", "app/keys/password"] {
            for name in ["writes", "reads", "all"] {
                let body = target == "app" ? "PATCH app {\"b\":2}" : "PUT app/keys/password \"x\""
                let known = try tag(try protected.send(Request("GET \(target)"), as: name))
                let read = Request("GET \(target)", "If-Match: \(known)")
                #expect(try protected.send(read, as: "writes").status == 200)
                let answer = try protected.send(Request(body, "If-Match: \(known)"), as: "writes")
                #expect(answer.status == 200, "\(answer.text)")
                // `If-Match` ignores the suffix. The daemon refuses the tag because its revision 1 is not the last one.
                let refused = try protected.send(Request("GET \(target)", "If-Match: \"1-0000000\""), as: "writes")
                #expect(refused.status == 412)
            }
        }
        let answer = try protected.send(#"PATCH app {"b":3}"#, as: "writes")
        #expect(answer.field("ETag") == (try protected.send("GET app", as: "writes").field("ETag")))
        let secret = try protected.send(#"PUT app/keys/password "y""#, as: "writes")
        #expect(secret.field("ETag") == (try protected.send("GET app/keys/password", as: "writes").field("ETag")))
        #expect(try protected.send("DELETE app?drop", as: "all").field("ETag") == "\"0\"")
    }

    @Test("Only with access control, answers are private and vary by the credential")
    func caching() throws {
        let protected = try protected()
        for (request, name): (Request, String?) in [
            ("GET app", "reads"), ("GET app/keys/a", "some"), ("GET /v1/suites", "reads"), ("GET app/keys/zz", "reads"),
            ("PUT app/keys/a 5", "writes"), ("GET app/observe?wait=0&since=0", "reads"), ("GET app", nil),
            ("GET app", "wrong"), ("GET /healthz", nil), ("GET /ui/", nil), ("GET nothing", "reads"),
        ] {
            let fields = try protected.send(request, as: name).fields
            func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
            #expect(values("Cache-Control") == ["private, no-cache"], "\(request)")
            #expect(values("Vary").contains("Authorization, X-API-Key"), "\(request)")
        }
        let open = try TestDaemon()
        for request in Self.writesBeforeTest { try open.sendOK(request) }
        for request: Request in ["GET app", "GET app/keys/password", "GET /v1/suites"] {
            let answer = try open.send(request)
            #expect(answer.fields.filter { $0.name == "Cache-Control" }.map(\.value) == ["no-cache"])
            #expect(answer.field("Vary") == nil)
        }
    }

    @Test("All answers to a caller with the right `secrets` or `admin` have Cache-Control: no-store")
    func confidential() throws {
        let protected = try protected()
        let known = try protected.send("GET app", as: "sees")
        /// True if a cache may store the answer.
        func isStorable(_ answer: RawResponse) -> Bool {
            !answer.fields.contains { $0.name == "Cache-Control" && $0.value == "no-store" }
        }
        for target in [
            "app", "app/keys", "app/keys/password", "app?at=3", "app/history", "app/diff?from=0", "app/observe",
            "app/observe?since=0",
        ] {
            let request = Request("GET \(target)")
            #expect(!isStorable(try protected.send(request, as: "sees")), "\(target)")
            #expect(isStorable(try protected.send(request, as: "reads")), "\(target)")
        }
        let poll = try WaitingClient(
            protected, protected.authorized(Request("GET app/observe?since=\(known.cursorText)&wait=300"), as: "sees"))
        let waiting = try WaitingClient(
            protected, protected.authorized(Request("GET app?wait=300", "If-None-Match: \(try tag(known))"), as: "sees")
        )
        #expect(try protected.send("PUT app/keys/a 7", as: "all").status == 200)
        for answer in [try poll.answer(), try waiting.answer()] { #expect(!isStorable(answer) && answer.status == 200) }
        #expect(!isStorable(try protected.daemon.stream(protected.authorized("GET app/observe", as: "sees")).head))
        #expect(!isStorable(try protected.send("GET /v1/backup", as: "all")))
    }

    // MARK: Grants that change

    private func grant(_ grants: [String], to name: String, of protected: ProtectedDaemon) throws {
        let list = try grants.map { try Grant($0) }
        try protected.changeTokens { (file: inout TokenFile) throws(ConfigurationError) in
            file.tokens[file.tokens.firstIndex { $0.name == name } ?? 0].grants = list
        }
    }

    static let changes: [(before: [String], after: [String])] = [
        (["app/a:read"], ["app:read"]), (["app:read"], ["app:read,secrets"]), (["app:read"], ["*:read,secrets"]),
    ]

    @Test(
        "After a change of a caller's grants, a read with the old tag returns 200, and an old cursor returns a reset",
        arguments: changes)
    func changed(before: [String], after: [String]) throws {
        let protected = try protected(["ci": before])
        let known = try protected.send("GET app", as: "ci")
        let observed = try protected.send("GET app/observe", as: "ci")
        let cursors = [known.cursorText, try #require(observed.json?["cursor"]?.string)]
        try grant(after, to: "ci", of: protected)
        let request = Request("GET app", "If-None-Match: \(try tag(known))")
        #expect(try protected.send(request, as: "ci").status == 200)
        #expect(try protected.send(Request("GET app?wait=0", request.fields[0]), as: "ci").status == 200)
        for cursor in cursors {
            let answer = try protected.send(Request("GET app/observe?since=\(cursor)&wait=300"), as: "ci").json
            #expect(answer?["reset"] == true)
            let values = try protected.send("GET app", as: "ci").json?["values"]
            #expect(values != nil && answer?["values"] == values)
            let stream = try protected.daemon.stream(
                protected.authorized("GET app/observe", as: "ci"), lastEventID: cursor)
            let event = try #require(try stream.event())
            #expect(event.type == "reset")
            #expect(event.lastEventID == answer?["cursor"]?.string)
        }
    }

    @Test("A caller's tag and cursor stay valid if other callers' grants or the order of the caller's grants change")
    func unchanged() throws {
        let protected = try protected(["ci": ["app/a:read", "app/b:read"], "other": ["app:read"]])
        let known = try protected.send("GET app", as: "ci")
        try grant(["app:read,write"], to: "other", of: protected)
        try grant(["app/b:read", "app/a:read"], to: "ci", of: protected)
        let request = Request("GET app", "If-None-Match: \(try tag(known))")
        #expect(try protected.send(request, as: "ci").status == 304)
        let observe = Request("GET app/observe?since=\(known.cursorText)&wait=0")
        #expect(try protected.send(observe, as: "ci").json?["changes"] == [])
    }

    @Test("A long poll with a cursor from a caller with full access waits for a change and returns a reset")
    func handedOver() throws {
        let protected = try protected(["ci": ["app:read"]])
        let cursor = try protected.send("GET app", as: "all").cursorText
        let request = protected.authorized(Request("GET app/observe?since=\(cursor)&wait=300"), as: "ci")
        let peer = try WaitingClient(protected, request)
        #expect(try protected.send("PUT app/keys/a 7", as: "all").status == 200)
        for answer in [try peer.answer(), try protected.daemon.send(request)] {
            #expect(answer.json?["reset"] == true)
            #expect(answer.json?["values"]?["a"] == 7)
        }
    }

    /// `$` stands for the current cursor.
    static let requests: [Request] = [
        "GET app", "HEAD app", "GET app/keys/a", "GET app/keys/a?raw", "GET app/keys/zz", "GET app/keys",
        "GET app/schema",
        "GET app?at=3", "GET app/keys/a?at=3", "GET app/history", "GET app/diff?from=0", "GET app/observe",
        "GET app/observe?since=0", "GET app/observe?since=$&wait=0", "GET /v1/observe?suitePrefix=", "GET none/observe",
        "GET /v1", "GET /v1/suites", "GET /v1/caller", "GET /openapi.json", "OPTIONS app", "GET hidden", "POST app",
        "PUT app/keys/a 9", #"PATCH app {"a":8}"#, "DELETE app/keys/a", "PUT app/keys/a", "PUT app/keys/a?dryRun 3",
        #"PATCH app/keys/b {"op":"add","by":1}"#, #"POST app/undo {"revision":3}"#,
        #"POST /v1/transaction {"if":[{"suite":"app","revision":1}],"do":[]}"#,
        #"POST app/ofrep/v1/evaluate/flags/a {"context":{}}"#, #"POST app/ofrep/v1/evaluate/flags {"context":{}}"#,
    ]

    @Test("Every answer to a caller has cursors of the same epoch", arguments: requests)
    func epoch(request: Request) throws {
        let protected = try protected(["ci": ["app:write"]])
        let start = try protected.send("GET /v1", as: "ci").cursorText
        let epoch = try #require(Cursor(start)?.epoch)
        let daemonEpoch = try #require(Cursor(try protected.send("GET /v1", as: "all").cursorText)?.epoch)
        #expect(epoch != daemonEpoch && daemonEpoch.isBase(of: epoch), "the epoch is derived from the daemon's epoch")
        var request = request
        request.target = request.target.replacing("$", with: start)
        let client = try protected.daemon.connect()
        try client.send(protected.authorized(request, as: "ci").bytes)
        let answer = try client.readResponse(toHead: request.method == "HEAD")
        #expect(Cursor(answer.cursorText)?.epoch == epoch, "\(answer.fields) \(answer.text)")
        if let cursor = answer.json?["cursor"]?.string { #expect(Cursor(cursor)?.epoch == epoch, "\(answer.text)") }
    }

    @Test("An event stream sends cursors of the caller's epoch in its head and in its events")
    func stream() throws {
        let protected = try protected(["ci": ["app:read"]])
        let start = try protected.send("GET /v1", as: "ci").cursorText
        let streams = try [nil, start].map { since in
            try protected.daemon.stream(protected.authorized("GET app/observe", as: "ci"), lastEventID: since)
        }
        _ = try streams[0].event()
        #expect(try protected.send("PUT app/keys/a 7", as: "all").status == 200)
        for stream in streams {
            #expect(stream.head.cursorText.hasPrefix(start.prefix { $0 != "." } + "."))
            let event = try #require(try stream.event())
            #expect(event.type == "commit")
            #expect(Cursor(event.lastEventID)?.epoch == Cursor(start)?.epoch)
        }
        let flags = try protected.daemon.stream(
            protected.authorized("GET app/ofrep/v1/events", as: "ci"), lastEventID: start)
        let event = try #require(try flags.event())
        #expect(Cursor(event.lastEventID)?.epoch == Cursor(start)?.epoch)
        let etag = try JSONValue(parsing: event.data)["etag"]?.string
        #expect(etag == (try protected.send("GET app", as: "ci").field("ETag")))
    }

    @Test("Settings-At-Least accepts a cursor from a caller with other grants")
    func atLeast() throws {
        let protected = try protected(["ci": ["app:read"], "other": ["app/a:read"]])
        let names = ["ci", "other", "all"]
        for (sender, receiver) in names.flatMap({ sender in names.map { (sender, $0) } }) {
            let cursor = try #require(Cursor(try protected.send("GET app", as: sender).cursorText))
            let now = Request("GET app", "Settings-At-Least: \(cursor)")
            #expect(try protected.send(now, as: receiver).status == 200)
            let next = try #require(cursor.revision.advanced(by: 1))
            let later = Request("GET app", "Settings-At-Least: \(Cursor(epoch: cursor.epoch, revision: next))")
            let peer = try WaitingClient(protected, protected.authorized(later, as: receiver))
            #expect(try protected.send(Request("PUT app/keys/a \(next)"), as: "all").status == 200)
            #expect(try peer.answer().status == 200)
        }
        // No cursor of the daemon has the epoch `zzzz`.
        let none = try protected.send(Request("GET app?wait=0", "Settings-At-Least: zzzz.1"), as: "ci")
        #expect(none.status == 503)
        #expect(none.json?["cursor"]?.string == none.cursorText)
    }

    // MARK: Callers without access

    /// Requests without access to the suite, requests that the daemon refuses before it checks the credential (400,
    /// 421, and 403 because of `Origin`), and requests for public resources. The token `none` has no grants. It gets
    /// 401 from a resource of a suite, and from a resource that every caller with a grant may read. It gets 403 from a
    /// resource, such as `/metrics`, that needs a right on the whole service.
    static let requestsWithoutCursor: [(request: Request, name: String?, status: Int)] = [
        ("GET app", nil, 401), ("GET app", "wrong", 401), ("GET /v1", nil, 401), ("GET /nothing", nil, 401),
        ("PUT app/keys/a 1", nil, 401), ("GET app/observe", "expired", 401), ("GET /metrics", "none", 403),
        ("GET app", "none", 401), ("GET /healthz", nil, 200), ("GET /readyz", nil, 200), ("GET /ui/", nil, 200),
        ("GET /ui/none", nil, 404), ("GET /ui", nil, 302), ("POST /ui/", nil, 405), ("OPTIONS /healthz", nil, 204),
        ("POST /healthz", nil, 405), ("OPTIONS /ui/", nil, 204), (Request("GET app", "Host: evil.example"), nil, 421),
        (Request("GET app", "Origin: https://evil.example"), "all", 403), ("GET app?a=%zz", nil, 401),
        (Request("GET app", "Content-Length: x"), nil, 400), ("OPTIONS *", nil, 401),
        (Request("GET /healthz?wait=0", "Settings-At-Least: zzzz.1"), nil, 200),
        (Request("GET /readyz?wait=0", "Settings-At-Least: zzzz.1"), nil, 200),
    ]

    @Test(
        "An answer has no cursor if the caller has no access, is not authenticated yet, or requests a public resource",
        arguments: requestsWithoutCursor)
    func stranger(request: Request, name: String?, status: Int) throws {
        // `ProtectedDaemon` makes a token with the name `expired` that has already expired. `wrong` is no token.
        let protected = try protected(["expired": ["*:read"], "none": []])
        let answer = try protected.send(request, as: name)
        #expect(answer.status == status, "\(answer.text)")
        #expect(answer.field("Settings-Cursor") == nil)
        #expect(answer.json?["cursor"] == nil)
    }

    @Test("A 401 for an anonymous caller has no cursor, also if the caller may read other suites")
    func anonymous() throws {
        let open = try [Grant("open:read")]
        let protected = try ProtectedDaemon([:], given: Self.writesBeforeTest + ["PUT open/keys/a 1"]) {
            $0.access.anonymous = open
        }
        #expect(try protected.send("GET app", as: nil).field("Settings-Cursor") == nil)
        #expect(try protected.send("GET open", as: nil).field("Settings-Cursor") != nil)
    }

    @Test("A refusal for an authenticated caller has a cursor")
    func refused() throws {
        let protected = try protected()
        for request: Request in ["GET /metrics", "PUT app/keys/a 1", "GET hidden", "GET /nothing", "PATCH app/observe"]
        {
            let answer = try protected.send(request, as: "reads")
            #expect(answer.status >= 400 && answer.field("Settings-Cursor") != nil, "\(request) \(answer.status)")
        }
    }
}
