import HTTPServer
import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// The end of a wait during which nothing changed. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct WaitEndTests {
    /// A request that waits, and its answer if nothing changes.
    struct Wait: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// `CURSOR` stands for the current cursor.
        let request: Request
        let status: Int
        let body: String

        init(_ name: String, _ request: Request, _ status: Int, _ body: String = "") {
            testDescription = name
            self.request = request
            self.status = status
            self.body = body
        }

        func request(at cursor: String, seconds: Int) -> Request {
            var request = request
            request.target = request.target.replacing("CURSOR", with: cursor)
            request.target += (request.target.contains("?") ? "&" : "?") + "wait=\(seconds)"
            return request
        }
    }

    static let waits: [Wait] = [
        Wait("A suite", "GET app/observe?since=CURSOR", 200, #"{"suite":"app","schemaRevision":0,"changes":[]}"#),
        Wait(
            "A key of a suite", "GET app/observe?since=CURSOR&key=zz&limit=1&latest", 200,
            #"{"suite":"app","changes":[]}"#),
        Wait(
            "Several suites", "GET /v1/observe?since=CURSOR&suite=app&suite=zz", 200,
            #"{"schemaRevision":{"app":0},"missing":["zz"],"changes":[]}"#),
        Wait("A suite that does not exist", "GET zz/observe?since=CURSOR", 404, #"{"code":"unknown_suite"}"#),
        Wait("A suite that does not exist, without a cursor", "GET zz/observe", 404, #"{"code":"unknown_suite"}"#),
        Wait("A read of a setting", Request("GET app/keys/a", "If-None-Match: *"), 304),
        Wait("A read of a suite", Request("GET app", "If-None-Match: *"), 304),
        Wait("A read of a key that is not set", "GET app/keys/zz", 404, #"{"code":"not_set"}"#),
        Wait("A read of a key of a missing suite", "GET zz/keys/a", 404, #"{"code":"unknown_suite"}"#),
    ]

    /// Expects the answer to a wait during which nothing changed.
    private func expect(_ answer: RawResponse, _ wait: Wait, at cursor: String) throws {
        #expect(answer.status == wait.status, "\(answer.text)")
        if !wait.body.isEmpty {
            #expect(try JSONValue(parsing: wait.body).isFound(in: answer.json), "\(answer.text)")
        }
        if wait.status == 200 {
            #expect(answer.json?["cursor"]?.string == cursor)
            #expect(answer.json?["values"] == nil && answer.json?["reset"] == nil && answer.json?["more"] == nil)
        }
        if wait.request.target.contains("zz/observe") { #expect(answer.field("Retry-After") == "1") }
        #expect(answer.field("Settings-Cursor") == cursor)
    }

    @Test("A watcher of a rarely changed key gets no reset, although the commits after its cursor were evicted")
    func rare() throws {
        let daemon = try TestDaemon {
            $0.history.commits = 100
            // The history evicts the newest 10 commits of each suite last.
            $0.history.suiteCommits = 10
        }
        try daemon.sendOK("PUT app/keys/rare 1")
        let cursor = try daemon.cursor()
        let peers = try [
            "GET app/observe?key=rare&wait=300&since=\(cursor)",
            "GET /v1/observe?suite=app&suite=zz&key=rare&wait=300&since=\(cursor)",
        ].map { try WaitingClient(daemon, Request($0)) }
        for number in 0..<500 { try daemon.sendOK(Request("PUT app/keys/n \(number)")) }
        let now = try daemon.cursor()
        for peer in peers {
            peer.client.endSending()
            let answer = try peer.answer()
            #expect(answer.json?["reset"] == nil && answer.json?["changes"] == [], "\(answer.text)")
            #expect(answer.json?["cursor"]?.string == now)
        }
    }

    @Test("A watcher that closes its sending side is answered at once", arguments: waits)
    func halfClosed(wait: Wait) throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        let peer = try WaitingClient(daemon, wait.request(at: cursor, seconds: 300))
        peer.client.endSending()
        let answer = try peer.answer()
        try expect(answer, wait, at: cursor)
        // Only a 404 may ask for a delay.
        #expect(answer.json?["retryAfterMs"] == nil || wait.status == 404)
        #expect(try peer.client.readUntilClose().isEmpty)
        try daemon.awaitWatchers(0)
    }

    @Test("A watcher that ends sending directly after the request is answered at once", arguments: waits)
    func closedBefore(wait: Wait) throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        let client = try daemon.connect()
        try client.send(wait.request(at: cursor, seconds: 300).bytes)
        client.endSending()
        try expect(try client.readResponse(), wait, at: cursor)
        try daemon.awaitWatchers(0)
    }

    @Test("The wait of a disconnected client ends", arguments: waits)
    func reset(wait: Wait) throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        let peers = try (0..<5).map { _ in try WaitingClient(daemon, wait.request(at: cursor, seconds: 300)) }
        for peer in peers { peer.client.reset() }
        try daemon.awaitWatchers(0)
        // These writes would wake the clients if their waits had not ended. The writes must succeed.
        try daemon.sendOK("PUT zz/keys/a 1")
        try daemon.sendOK("PUT app/keys/zz 1")
    }

    @Test("A wait that times out is answered without changes", arguments: waits)
    func time(wait: Wait) throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        let peer = try WaitingClient(daemon, wait.request(at: cursor, seconds: 1))
        let answer = try peer.answer()
        try expect(answer, wait, at: cursor)
        #expect(answer.json?["retryAfterMs"] == nil || wait.status == 404)
        // The connection remains open.
        #expect(try peer.client.ask("GET app/keys/a?raw").text == "1")
        #expect(try daemon.connect().watcherCount() == 0)
    }

    @Test("The cursor in the answer has advanced past commits that did not match")
    func advanced() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        let peer = try WaitingClient(daemon, Request("GET app/observe?key=zz&since=\(cursor)"))
        try daemon.sendOK("PUT app/keys/a 2")
        let last = try daemon.sendOK("PUT other/keys/a 2").cursorText
        peer.client.endSending()
        let answer = try peer.answer()
        #expect(answer.json?["changes"] == [])
        #expect(answer.json?["cursor"]?.string == last)
        #expect(answer.field("Settings-Cursor") == last)
    }

    @Test(
        "A cursor or revision ahead of the daemon is returned as a cursor; Settings-Cursor has the daemon's own cursor",
        arguments: ["app/observe?", "/v1/observe?suite=app&suitePrefix=x&"])
    func ahead(target: String) throws {
        let daemon = try TestDaemon()
        let cursor = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let ahead = "\(cursor.prefix { $0 != "." }).900"
        for since in [ahead, "900"] {
            let answer = try daemon.send(Request("GET \(target)since=\(since)&wait=0"))
            #expect(answer.status == 200)
            #expect(answer.json?["cursor"]?.string == ahead)
            #expect(answer.field("Settings-Cursor") == cursor)
        }
    }

    @Test(
        "A stop answers all watchers and closes their connections; an answer with status 200 has retryAfterMs",
        arguments: waits)
    func stop(wait: Wait) throws {
        // These clients close only after the daemon does, so a long linger time would delay the test.
        let daemon = try TestDaemon { $0.transport.lingerTime = TransportLimits.second / 50 }
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        let peers = try (0..<3).map { _ in try WaitingClient(daemon, wait.request(at: cursor, seconds: 300)) }
        daemon.stop()
        for peer in peers {
            let answer = try peer.answer()
            try expect(answer, wait, at: cursor)
            #expect(answer.field("Connection") == "close")
            if wait.status == 200 {
                let delay = try #require(answer.json?["retryAfterMs"]?.integer)
                #expect((1...10_000).contains(delay))
            }
            #expect(try peer.client.readUntilClose().isEmpty)
        }
    }

    @Test("A read after a waiting read of the same suite returns the complete suite with the current cursor")
    func readAfterWait() throws {
        // Both reads are answered by one event loop, which caches the first answer.
        let daemon = try TestDaemon { $0.loops = 1 }
        let peer = try daemon.connect()
        // The read waits, because the suite does not exist yet.
        try peer.send(Request("GET app?wait=60").bytes)
        try daemon.awaitWatchers(1)
        try daemon.sendOK("PUT app/keys/a 1")
        #expect(try peer.readResponse().json?["values"] == ["a": 1])
        let later = try daemon.sendOK("PUT other/keys/a 1").cursorText
        let read = try daemon.send("GET app")
        #expect(read.json?["values"] == ["a": 1], "\(read.text)")
        #expect(read.json?["cursor"]?.string == later)
    }
}
