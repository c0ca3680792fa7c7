import HTTPServer
import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

/// The limits on watchers, and the order of waiting requests on a connection. A target such as `app/keys/a` is relative
/// to `/v1/suites/`.
@Suite(.ownThread)
struct WatcherLimitTests {
    /// A request of each kind that can wait. `CURSOR` stands for the current cursor.
    static let requests: [Request] = [
        "GET app/observe?since=CURSOR", "GET /v1/observe?since=CURSOR&suite=app", "GET zz/observe?wait=30",
        "GET app/keys/zz?wait=30", Request("GET app?wait=30", "If-None-Match: *"),
        Request("GET app/observe", "Accept: text/event-stream"),
        Request("GET zz/observe?since=CURSOR", "Accept: text/event-stream"),
    ]

    /// Expects that the daemon, whose limit is two watchers, refuses the request as the third watcher.
    private func expectRefusal(of request: Request, _ configure: (inout Configuration) -> Void) throws {
        let daemon = try TestDaemon(configure)
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        var request = request
        request.target = request.target.replacing("CURSOR", with: cursor)
        let peers = try (0..<2).map { _ in
            try WaitingClient(daemon, Request("GET app/observe?key=other&since=\(cursor)"))
        }
        let answer = try daemon.send(request)
        #expect(answer.status == 429, "\(answer.text)")
        #expect(answer.json?["code"] == "too_many_watchers")
        // The delay varies, so that refused clients do not retry together.
        let delay = try #require(answer.field("Retry-After").flatMap { Int($0) })
        #expect((1...10).contains(delay))
        #expect(answer.field("Settings-Cursor") == cursor)
        try OpenAPIDescription.check(answer, to: request, of: "too many")
        // Requests that do not wait are answered.
        #expect(try daemon.send("GET app/observe").status == 200)
        #expect(try daemon.send("GET app/observe?since=0").status == 200)
        #expect(try daemon.send(Request("GET app/observe?since=\(cursor)&wait=0")).status == 200)
        // When a watcher disconnects, the daemon accepts another watcher.
        peers[0].client.reset()
        try daemon.awaitWatchers(1)
        let next = try daemon.connect()
        try next.send(request.bytes)
        try daemon.awaitWatchers(2)
    }

    @Test("Watchers over the total limit get 429 with Retry-After", arguments: requests)
    func total(request: Request) throws {
        try expectRefusal(of: request) { $0.watchers.total = 2 }
    }

    @Test("Watchers over the limit of one address get 429", arguments: requests)
    func perAddress(request: Request) throws {
        // Without access control, the limit of a caller applies to each address.
        try expectRefusal(of: request) { $0.watchers.perCaller = 2 }
    }

    @Test("The limit on watchers applies to each address separately")
    func addresses() throws {
        let daemon = try TestDaemon {
            $0.watchers.perCaller = 1
            $0.listen.append(.tcp(host: "::1", port: 0))
        }
        guard case .tcp(_, let port)? = daemon.addresses.last else { throw DaemonInProcess.NoPort() }
        try daemon.sendOK("PUT app/keys/a 1")
        let request = Request("GET app/observe?since=\(try daemon.cursor())")
        let first = try WaitingClient(daemon, request)
        let other = try RawClient(.ipv6(port))
        try other.send(request.bytes)
        try daemon.awaitWatchers(2)
        #expect(try daemon.send(request).status == 429)
        try daemon.sendOK("PUT app/keys/a 2")
        #expect(try first.answer().status == 200)
        #expect(try other.readResponse().status == 200)
    }

    @Test("A limit of zero refuses every wait")
    func none() throws {
        let daemon = try TestDaemon { $0.watchers.total = 0 }
        try daemon.sendOK("PUT app/keys/a 1")
        #expect(try daemon.send(Request("GET app/observe?since=\(try daemon.cursor())")).status == 429)
        #expect(try daemon.send("GET app/observe").status == 200)
    }

    @Test("Requests before and after a waiting request are answered in order")
    func pipelined() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        let client = try daemon.connect()
        // A key that was never set has the tag "0".
        let requests: [Request] = [
            "GET app/keys/a?raw", Request("GET app/observe?key=b&since=\(cursor)"), "GET app/keys/b?raw",
            Request("GET app/keys/b?wait=30", "If-None-Match: \"0\""), "GET app/keys/a?raw",
        ]
        try client.send(requests.flatMap(\.bytes))
        #expect(try client.readResponse().text == "1")
        try daemon.awaitWatchers(1)
        #expect(!client.isReadable)
        try daemon.sendOK("PUT app/keys/b 7")
        #expect(try client.readResponse().json?["changes"]?.array?.count == 1)
        // The empty text stands for the JSON answer to the read with `wait`.
        for text in ["7", "", "1"] {
            let answer = try client.readResponse()
            #expect(answer.status == 200)
            #expect(text.isEmpty || answer.text == text)
        }
    }

    @Test("Observing includes earlier writes of its connection; later writes take effect after its answer")
    func ownWrites() throws {
        let daemon = try TestDaemon()
        let client = try daemon.connect()
        try client.send(Request("PUT app/keys/a 1").bytes + Request("GET app/observe").bytes)
        #expect(try client.readResponse().status == 201)
        let state = try client.readResponse()
        #expect(state.json?["values"] == ["a": 1])
        let cursor = try #require(state.json?["cursor"]?.string)
        try client.send(Request("GET app/observe?since=\(cursor)&wait=300").bytes + Request("PUT app/keys/a 2").bytes)
        try daemon.awaitWatchers(1)
        try daemon.sendOK("PUT app/keys/b 5")
        let observed = try client.readResponse()
        #expect(observed.json?["changes"]?.array?.map { $0["key"] } == ["b"])
        let written = try client.readResponse()
        #expect(written.json?["value"] == 2)
        #expect(try #require(written.revision) > #require(observed.revision))
    }

    @Test("Long polls on one connection wait one after another and miss no change")
    func several() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        let client = try daemon.connect()
        let keys = (0..<20).map { "k\($0)" }
        try client.send(keys.flatMap { Request("GET app/observe?key=\($0)&since=\(cursor)&wait=300").bytes })
        try daemon.awaitWatchers(1)
        for key in keys.reversed() { try daemon.sendOK(Request("PUT app/keys/\(key) 1")) }
        for key in keys {
            #expect(try client.readResponse().json?["changes"]?.array?.first?["key"]?.string == key)
        }
        try daemon.awaitWatchers(0)
    }

    @Test("HEAD waits like GET and is answered without a body")
    func head() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let peer = try WaitingClient(daemon, Request("HEAD app/observe?since=\(try daemon.cursor())"))
        let cursor = try daemon.sendOK("PUT app/keys/a 2").cursorText
        let head = try peer.client.readResponse(toHead: true)
        #expect(head.status == 200)
        #expect(head.field("Settings-Cursor") == cursor)
        #expect(try peer.client.ask("GET app/keys/a?raw").text == "2")
    }

    @Test("An HTTP/1.0 request can wait")
    func old() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let request = Request("GET app/observe?since=\(try daemon.cursor())").with(version: "HTTP/1.0")
        let peer = try WaitingClient(daemon, request)
        try daemon.sendOK("PUT app/keys/a 2")
        let answer = try peer.answer()
        #expect(answer.json?["changes"]?.array?.count == 1)
        #expect(answer.field("Connection") == "close")
        #expect(try peer.client.readUntilClose().isEmpty)
    }

    @Test("The creation of a suite wakes its watchers")
    func appears() throws {
        let daemon = try TestDaemon()
        let cursor = try daemon.cursor()
        let withoutCursor = try WaitingClient(daemon, "GET app/observe?wait=300")
        let withCursor = try WaitingClient(daemon, Request("GET app/observe?key=zz&since=\(cursor)"))
        try daemon.sendOK("PUT other/keys/a 1")
        let created = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let state = try withoutCursor.answer()
        #expect(state.status == 200)
        #expect(state.json?["values"] == ["a": 1])
        #expect(state.json?["reset"] == nil)
        #expect(state.json?["cursor"]?.string == created)
        let answer = try withCursor.answer()
        #expect(answer.status == 200)
        #expect(answer.json?["cursor"]?.string == created)
    }
}
