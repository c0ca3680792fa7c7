import SettingsAPI
import SettingsModel
import SettingsWeb
import TestSupport
import Testing

/// "Reading at a cursor" in docs/http-api.md, for a daemon without a cluster: requests with `Settings-At-Least` wait
/// until the daemon has the commits up to a cursor. Requests with `Settings-Fresh: true` wait for all acknowledged
/// commits of the cluster. `WaitingClient` sends a request and returns when the daemon counts it as a watcher; the
/// daemon counts every request that waits. In a row, `"*"` stands for any value, and `"*a*b*"` for a text with `a` and
/// then `b`. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct AtLeastTests {
    /// Reads and writes, each of which can wait for a cursor.
    static let requests: [Request] = [
        "GET app/keys/a", "HEAD app/keys/a", "GET app", "GET app/keys", "GET app/schema", "GET app/history",
        "GET app/diff?from=0", "GET app/observe", "GET app/observe?since=0", "GET /v1", "GET /v1/suites",
        "PUT app/keys/b 7", #"PATCH app/keys/a {"op":"add","by":1}"#, "DELETE app/keys/a", #"PATCH app {"b":1}"#,
        #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"b","value":1}]}"#,
        #"POST app/undo {"revision":2}"#, #"POST app/ofrep/v1/evaluate/flags/a {"context":{}}"#,
        #"POST app/ofrep/v1/evaluate/flags {"context":{}}"#,
    ]
    /// The writes before each of the requests.
    static let given: [Request] = [#"PUT app/schema {"additionalProperties":true}"#, "PUT app/keys/a 1"]

    private func daemon() throws -> TestDaemon {
        let daemon = try TestDaemon()
        for request in Self.given { try daemon.sendOK(request) }
        return daemon
    }

    /// The cursor that the daemon reaches after this many more commits.
    private func cursor(_ daemon: TestDaemon, after count: Int64) throws -> String {
        let cursor = try #require(Cursor(try daemon.cursor()))
        return "\(cursor.epoch).\(cursor.revision.number + count)"
    }

    private func with(_ request: Request, atLeast cursor: String) -> Request {
        var request = request
        request.fields.append("Settings-At-Least: \(cursor)")
        return request
    }

    @Test("A request with Settings-At-Least at a reached cursor is answered without a wait", arguments: requests)
    func reached(request: Request) throws {
        let daemon = try daemon()
        let answer = try daemon.send(with(request, atLeast: try daemon.cursor()))
        #expect((200..<300).contains(answer.status), "\(answer.text)")
    }

    @Test(
        "A request with Settings-At-Least waits for the cursor and shows the state at the cursor or a later state",
        arguments: requests)
    func waits(request: Request) throws {
        let daemon = try daemon()
        let later = try cursor(daemon, after: 2)
        let peer = try WaitingClient(daemon, with(request, atLeast: later))
        try daemon.sendOK("PUT other/keys/a 1")
        #expect(!peer.client.isReadable)
        try daemon.sendOK("PUT other/keys/a 2")
        let answer = try peer.client.readResponse(toHead: request.method == "HEAD")
        #expect((200..<300).contains(answer.status), "\(answer.text)")
        let (reached, wanted) = (try #require(answer.revision), try #require(Cursor(later)?.revision))
        #expect(reached >= wanted)
        try daemon.awaitWatchers(0)
    }

    @Test(
        "A request whose cursor is not reached in time returns 503 `behind` with the current cursor",
        arguments: requests)
    func late(request: Request) throws {
        let daemon = try daemon()
        let (now, later) = (try daemon.cursor(), try cursor(daemon, after: 1))
        var withoutWait = with(request, atLeast: later)
        withoutWait.target += (request.target.contains("?") ? "&" : "?") + "wait=0"
        let before = try daemon.readEverything()
        // The daemon never reaches `zzzz.0`, a cursor of another epoch.
        for wanted in [later, "zzzz.0"] {
            withoutWait.fields = ["Settings-At-Least: \(wanted)"]
            let answer = try daemon.send(withoutWait)
            #expect(answer.status == 503 && answer.field("Retry-After") == "1")
            #expect(answer.cursorText == now)
            // An answer to HEAD has no body, and an OpenFeature error has other members.
            guard request.method != "HEAD", !request.target.contains("ofrep") else { continue }
            #expect(answer.json?["code"] == "behind" && answer.json?["outcome"] == "not_done", "\(answer.text)")
            #expect(answer.json?["cursor"]?.string == now)
        }
        #expect(try daemon.readEverything() == before)
    }

    @Test(
        "A wait for a cursor ends after the requested seconds, or when the client ends sending or closes the connection"
    )
    func ends() throws {
        let daemon = try daemon()
        let later = try cursor(daemon, after: 1)
        let start = ContinuousClock.now
        #expect(try daemon.send(with("PUT app/keys/b?wait=1 1", atLeast: later)).json?["code"] == "behind")
        #expect(ContinuousClock.now - start >= .seconds(1))
        let peer = try WaitingClient(daemon, with("GET app?wait=300", atLeast: later))
        // A client that closes only its sending side gets its answer at once.
        peer.client.endSending()
        #expect(try peer.answer().json?["code"] == "behind")
        let closed = try WaitingClient(daemon, with("GET app?wait=300", atLeast: later))
        closed.client.close()
        try daemon.awaitWatchers(0)
    }

    @Test("A write with a long body waits for its cursor")
    func long() throws {
        let daemon = try daemon()
        let text = String(repeating: "x", count: 300_000)
        let peer = try WaitingClient(
            daemon, with(Request("PUT app/keys/long \"\(text)\""), atLeast: try cursor(daemon, after: 1)))
        try daemon.sendOK("PUT other/keys/a 1")
        #expect(try peer.answer().status == 201)
        #expect(try daemon.send("GET app/keys/long?raw").text == text)
    }

    @Test("Pipelined requests behind a waiting request keep their order")
    func order() throws {
        let daemon = try daemon()
        let peer = try WaitingClient(daemon, with("PUT app/keys/a 2", atLeast: try cursor(daemon, after: 1)))
        try peer.client.send(Request("PUT app/keys/a 3").bytes + Request("GET app/keys/a").bytes)
        try daemon.sendOK("PUT other/keys/a 1")
        #expect(try peer.client.readResponse().json?["previous"]?["value"] == 1)
        #expect(try peer.client.readResponse().json?["previous"]?["value"] == 2)
        #expect(try peer.client.readResponse().json?["value"] == 3)
    }

    @Test("Of 150 requests that wait for three cursors, each is answered when its cursor is reached, and not before")
    func many() throws {
        let daemon = try daemon()
        let groups = try (1...3).map { commits in
            let cursor = try cursor(daemon, after: Int64(commits))
            return try (1...50).map { _ in try WaitingClient(daemon, with("GET app?wait=60", atLeast: cursor)) }
        }
        for (index, group) in groups.enumerated() {
            #expect(!group.contains { $0.client.isReadable })
            try daemon.sendOK(Request("PUT other/keys/a \(index)"))
            for peer in group { #expect(try peer.answer().status == 200) }
        }
    }

    @Test("A retry with the same idempotency key is replayed, also with another wait or without Settings-At-Least")
    func repeated() throws {
        let daemon = try daemon()
        let cursor = try daemon.cursor()
        func request(_ query: String, _ fields: String...) -> Request {
            var request = Request("PATCH app/keys/a\(query) {\"op\":\"add\",\"by\":1}")
            request.fields = ["Idempotency-Key: once"] + fields
            return request
        }
        try daemon.sendOK(request("?wait=3", "Settings-At-Least: \(cursor)"))
        let again = try daemon.sendOK(request("?wait=9", "Settings-At-Least: \(cursor)"))
        #expect(again.json?["replayed"] == true)
        #expect(try daemon.sendOK(request("")).json?["replayed"] == true)
    }

    @Test(
        "Revoking the token of a waiting caller ends its wait with 401; stopping the daemon ends a wait with 503 `behind`"
    )
    func credentials() throws {
        let protected = try ProtectedDaemon(["ci": ["*:read"]], given: Self.given)
        let reached = try protected.send("GET app", as: "ci").cursorText
        let cursor = try #require(Cursor(reached))
        let later = "\(cursor.epoch).\(cursor.revision.number + 1)"
        let revoked = try WaitingClient(
            protected, protected.authorized(with("GET app?wait=300", atLeast: later), as: "ci"))
        // `all` is a caller of `ProtectedDaemon` with every right.
        let other = try WaitingClient(
            protected, protected.authorized(with("GET app?wait=300", atLeast: later), as: "all"))
        try protected.changeTokens { (file: inout TokenFile) throws(ConfigurationError) in try file.revoke("ci") }
        #expect(try revoked.answer().status == 401)
        #expect(!other.client.isReadable)
        protected.daemon.stop()
        #expect(try other.answer().json?["code"] == "behind")
    }

    static let singleDaemonRows: [Row] = [
        Row(
            "A Settings-At-Least that is not a cursor", given: ["PUT app/keys/a 1"],
            Request("GET app", "Settings-At-Least: 17"), 400, .badRequest,
            body: #"{"detail":"*Settings-At-Least*cursor*\"17\"*"}"#),
        Row(
            "A Settings-Fresh that is neither true nor false", Request("GET /v1", "Settings-Fresh: yes"), 400,
            .badRequest, body: #"{"detail":"*Settings-Fresh*true*false*\"yes\"*"}"#),
        Row(
            "The parameter wait on a write without Settings-At-Least or Settings-Fresh", "PUT app/keys/a?wait=3 1", 400,
            .badRequest),
        Row(
            "A parameter wait that is not a number", Request("PUT app/keys/a?wait=soon 1", "Settings-Fresh: true"), 400,
            .badRequest),
        Row(
            "A read with Settings-Fresh: true", given: ["PUT app/keys/a 1"], Request("GET app", "Settings-Fresh: true"),
            200),
        Row("A write with Settings-Fresh: true", Request("PUT app/keys/a?wait=1 1", "Settings-Fresh: true"), 201),
        Row(
            "A read with Settings-Fresh: false", given: ["PUT app/keys/a 1"],
            Request("GET app", "Settings-Fresh: false"), 200),
        Row("The number of daemons, without a cluster", "GET /v1/cluster", 200, text: #"{"daemons":1}"#),
    ]

    @Test(
        "A daemon without a cluster validates Settings-At-Least, Settings-Fresh and wait, and counts one daemon",
        arguments: singleDaemonRows)
    func rows(row: Row) throws {
        try row.check()
    }
}
