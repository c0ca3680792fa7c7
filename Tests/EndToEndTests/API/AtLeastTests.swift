import SettingsAPI
import SettingsModel
import SettingsWeb
import TestSupport
import Testing

/// Section 12 of the contract, as far as a lone daemon goes: requests that wait for a place in history.
@Suite(.ownThread)
struct AtLeastTests {
    static let requests: [Request] = [
        "GET app/keys/a", "HEAD app/keys/a", "GET app", "GET app/keys", "GET app/schema", "GET app/history",
        "GET app/diff?from=0", "GET app/observe", "GET app/observe?since=0", "GET /v1", "GET /v1/suites",
        "PUT app/keys/b 7", #"PATCH app/keys/a {"op":"add","by":1}"#, "DELETE app/keys/a", #"PATCH app {"b":1}"#,
        #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"b","value":1}]}"#,
        #"POST app/undo {"revision":2}"#, #"POST app/ofrep/v1/evaluate/flags/a {"context":{}}"#,
        #"POST app/ofrep/v1/evaluate/flags {"context":{}}"#,
    ]
    static let given: [Request] = [#"PUT app/schema {"additionalProperties":true}"#, "PUT app/keys/a 1"]

    private func daemon() throws -> TestDaemon {
        let daemon = try TestDaemon()
        for request in Self.given { try daemon.done(request) }
        return daemon
    }

    /// The place in history so many commits later.
    private func place(_ daemon: TestDaemon, after count: Int64) throws -> String {
        let cursor = try #require(Cursor(try daemon.cursor()))
        return "\(cursor.epoch).\(cursor.revision.number + count)"
    }

    private func with(_ request: Request, atLeast place: String) -> Request {
        var request = request
        request.fields.append("Settings-At-Least: \(place)")
        return request
    }

    @Test("A request for a place that is there is answered at once", arguments: requests)
    func reached(request: Request) throws {
        let daemon = try daemon()
        let answer = try daemon.send(with(request, atLeast: try daemon.cursor()))
        #expect((200..<300).contains(answer.status), "\(answer.text)")
    }

    @Test("Any request for a place to come waits until it is there, and is answered as of then", arguments: requests)
    func held(request: Request) throws {
        let daemon = try daemon()
        let place = try place(daemon, after: 2)
        let peer = try WaitingPeer(daemon, with(request, atLeast: place))
        try daemon.done("PUT other/keys/a 1")
        #expect(!peer.client.hasNews)
        try daemon.done("PUT other/keys/a 2")
        let answer = try peer.client.readResponse(toHead: request.method == "HEAD")
        #expect((200..<300).contains(answer.status), "\(answer.text)")
        let (reached, wanted) = (try #require(answer.revision), try #require(Cursor(place)?.revision))
        #expect(reached >= wanted)
        #expect(try daemon.send("GET /metrics").status == 200)
        try daemon.awaitWatchers(0)
    }

    @Test("A place that does not come in time is 503 behind, with the place that there is", arguments: requests)
    func late(request: Request) throws {
        let daemon = try daemon()
        let (now, later) = (try daemon.cursor(), try place(daemon, after: 1))
        var hasty = with(request, atLeast: later)
        hasty.target += (request.target.contains("?") ? "&" : "?") + "wait=0"
        let before = try daemon.world()
        for wanted in [later, "zzzz.0"] {
            hasty.fields = ["Settings-At-Least: \(wanted)"]
            let answer = try daemon.send(hasty)
            #expect(answer.status == 503 && answer.field("Retry-After") == "1")
            #expect(answer.cursorText == now)
            guard request.method != "HEAD", !request.target.contains("ofrep") else { continue }
            #expect(answer.json?["code"] == "behind" && answer.json?["outcome"] == "not_done", "\(answer.text)")
            #expect(answer.json?["cursor"]?.string == now)
        }
        #expect(try daemon.world() == before)
    }

    @Test("A wait ends after as many seconds as the request says, or when its sender closes its side")
    func ends() throws {
        let daemon = try daemon()
        let place = try place(daemon, after: 1)
        let start = ContinuousClock.now
        #expect(try daemon.send(with("PUT app/keys/b?wait=1 1", atLeast: place)).json?["code"] == "behind")
        #expect(ContinuousClock.now - start >= .seconds(1))
        let peer = try WaitingPeer(daemon, with("GET app?wait=300", atLeast: place))
        peer.client.endSending()
        #expect(try peer.answer().json?["code"] == "behind")
        let gone = try WaitingPeer(daemon, with("GET app?wait=300", atLeast: place))
        gone.client.close()
        try daemon.awaitWatchers(0)
    }

    @Test("A write with a long body waits like any other")
    func long() throws {
        let daemon = try daemon()
        let text = String(repeating: "x", count: 300_000)
        let peer = try WaitingPeer(
            daemon, with(Request("PUT app/keys/long \"\(text)\""), atLeast: try place(daemon, after: 1)))
        try daemon.done("PUT other/keys/a 1")
        #expect(try peer.answer().status == 201)
        #expect(try daemon.send("GET app/keys/long?raw").text == text)
    }

    @Test("Requests of a connection behind one that waits keep their order")
    func order() throws {
        let daemon = try daemon()
        let peer = try WaitingPeer(daemon, with("PUT app/keys/a 2", atLeast: try place(daemon, after: 1)))
        try peer.client.send(Request("PUT app/keys/a 3").bytes + Request("GET app/keys/a").bytes)
        try daemon.done("PUT other/keys/a 1")
        #expect(try peer.client.readResponse().json?["previous"]?["value"] == 1)
        #expect(try peer.client.readResponse().json?["previous"]?["value"] == 2)
        #expect(try peer.client.readResponse().json?["value"] == 3)
    }

    @Test("Many that wait for different places are each answered once their own is there")
    func many() throws {
        let daemon = try daemon()
        let peers = try (1...150).map { number in
            try WaitingPeer(daemon, with("GET app?wait=60", atLeast: try place(daemon, after: Int64(number % 3) + 1)))
        }
        for number in 1...3 { try daemon.done(Request("PUT other/keys/a \(number)")) }
        for peer in peers { #expect(try peer.answer().status == 200) }
    }

    @Test("How long a write may wait for its place makes it no other write")
    func repeated() throws {
        let daemon = try daemon()
        let place = try daemon.cursor()
        func request(_ query: String, _ fields: String...) -> Request {
            var request = Request("PATCH app/keys/a\(query) {\"op\":\"add\",\"by\":1}")
            request.fields = ["Idempotency-Key: once"] + fields
            return request
        }
        try daemon.done(request("?wait=3", "Settings-At-Least: \(place)"))
        let again = try daemon.done(request("?wait=9", "Settings-At-Least: \(place)"))
        #expect(again.json?["replayed"] == true)
        #expect(try daemon.done(request("")).json?["replayed"] == true)
    }

    @Test("A wait ends when the daemon stops, and with the credential of its caller")
    func credentials() throws {
        let guarded = try GuardedDaemon(["ci": ["*:read"]], given: Self.given)
        let place = try guarded.send("GET app", as: "ci").cursorText
        let cursor = try #require(Cursor(place))
        let later = "\(cursor.epoch).\(cursor.revision.number + 1)"
        let revoked = try WaitingPeer(guarded, guarded.signed(with("GET app?wait=300", atLeast: later), as: "ci"))
        let other = try WaitingPeer(guarded, guarded.signed(with("GET app?wait=300", atLeast: later), as: "all"))
        try guarded.change { (file: inout TokenFile) throws(ConfigurationError) in try file.revoke("ci") }
        #expect(try revoked.answer().status == 401)
        #expect(!other.client.hasNews)
        guarded.daemon.stop()
        #expect(try other.answer().json?["code"] == "behind")
    }

    static let refusals: [Row] = [
        Row(
            "No cursor", given: ["PUT app/keys/a 1"], Request("GET app", "Settings-At-Least: 17"), 400, .badRequest,
            #"{"detail":"Settings-At-Least must be a cursor such as 7f3a.40, but is \"17\""}"#),
        Row(
            "A word that is neither true nor false", Request("GET /v1", "Settings-Fresh: yes"), 400, .badRequest,
            #"{"detail":"Settings-Fresh must be true or false, but is \"yes\""}"#),
        Row("A wait for nothing", "PUT app/keys/a?wait=3 1", 400, .badRequest),
        Row(
            "A wait that is no number", Request("PUT app/keys/a?wait=soon 1", "Settings-Fresh: true"), 400, .badRequest),
        Row("Fresh", given: ["PUT app/keys/a 1"], Request("GET app", "Settings-Fresh: true"), 200),
        Row("Fresh, to a write", Request("PUT app/keys/a?wait=1 1", "Settings-Fresh: true"), 201),
        Row("Not fresh", given: ["PUT app/keys/a 1"], Request("GET app", "Settings-Fresh: false"), 200),
        Row("The daemons", "GET /v1/cluster", 200, text: #"{"daemons":1}"#),
    ]

    @Test("What a lone daemon says of the places that requests ask for", arguments: refusals)
    func rows(row: Row) throws {
        try row.check()
    }
}
