import SettingsModel
import TestSupport
import Testing

/// Observing with server-sent events. In the expected data of an event, `"*"` stands for any value, and the event may
/// have more members. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct EventStreamTests {
    /// A schema with the default 1 for the key `a`, and with other keys that have no defaults.
    static let schema = ObservedStateTests.schema

    @Test("A stream starts with retry and the state, then sends each commit with its cursor")
    func stateAndCommits() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/b 1")
        let start = try daemon.cursor()
        let stream = try daemon.stream("GET app/observe")
        #expect(stream.head.status == 200)
        #expect(stream.head.field("Content-Type") == "text/event-stream")
        #expect(stream.head.field("Cache-Control") == "no-cache")
        #expect(stream.head.field("Settings-Cursor") == start)
        #expect(stream.head.field("Content-Length") == nil)
        let state = try stream.expect("state", start, #"{"suite":"app","values":{"b":1},"changes":[]}"#)
        #expect(state["cursor"]?.string == start)
        #expect(String(decoding: stream.received, as: UTF8.self).hasPrefix("retry: 1000\n"))
        #expect(stream.parser.retry == 1000)

        let first = try daemon.sendOK("PUT app/keys/a 5").cursorText
        let commit = try stream.expect(
            "commit", first, #"{"changes":[{"key":"a","old":null,"new":5,"source":"stored"}]}"#)
        #expect(commit["cursor"]?.string == first)
        #expect(commit["revision"]?.integer.map(String.init) == first.split(separator: ".").last.map(String.init))
        #expect(commit["suite"] == nil && commit["values"] == nil && commit["schemaRevision"] == nil)
        #expect(commit["changes"]?.array?[0]["suite"] == nil)

        // Neither a write that changes nothing nor a write to another suite sends an event.
        try daemon.sendOK("PUT app/keys/a 5")
        try daemon.sendOK("PUT other/keys/a 5")
        let second = try daemon.sendOK("PATCH app {\"a\":6,\"b\":7}").cursorText
        try stream.expect("commit", second, #"{"changes":[{"key":"a","new":6},{"key":"b","new":7}]}"#)
        let third = try daemon.sendOK(Self.schema).cursorText
        let withSchema = try stream.expect("commit", third, #"{"changes":[],"schemaRevision":"*"}"#)
        #expect(withSchema["schemaRevision"] == withSchema["revision"])
        let fourth = try daemon.sendOK("DELETE app/keys/a").cursorText
        try stream.expect("commit", fourth, #"{"changes":[{"key":"a","old":6,"new":1,"source":"default"}]}"#)
        #expect(stream.lastEventID == fourth)
    }

    @Test("Key filters apply to the state and to commits")
    func filters() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(#"PUT app {"a":1,"b":2,"c.d":3,"c":4}"#)
        let stream = try daemon.stream("GET app/observe?key=a&prefix=c.")
        let state = try stream.expect("state", try daemon.cursor(), "{}")
        #expect(state["values"] == ["a": 1, "c.d": 3])
        try daemon.sendOK("PUT app/keys/b 9")
        let cursor = try daemon.sendOK(#"PATCH app {"a":2,"b":3,"c":5,"c.e":6}"#).cursorText
        try stream.expect("commit", cursor, #"{"changes":[{"key":"a","new":2},{"key":"c.e","new":6}]}"#)
    }

    @Test("A stream of several suites names existing and missing suites")
    func severalSuites() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT a/keys/x 1")
        let stream = try daemon.stream("GET /v1/observe?suite=b&suite=a")
        try stream.expect(
            "state", try daemon.cursor(), #"{"values":{"a":{"x":1}},"missing":["b"],"schemaRevision":{"a":0}}"#)
        let created = try daemon.sendOK("PUT b/keys/y 2").cursorText
        try stream.expect("commit", created, #"{"changes":[{"suite":"b","key":"y","old":null,"new":2}]}"#)
        let both = try daemon.sendOK(
            #"POST /v1/transaction {"do":[{"op":"set","suite":"b","key":"y","value":3},"#
                + #"{"op":"set","suite":"a","key":"x","value":4},{"op":"set","suite":"c","key":"z","value":4}]}"#
        ).cursorText
        try stream.expect("commit", both, #"{"changes":[{"suite":"b","new":3},{"suite":"a","new":4}]}"#)
        let schema = try daemon.sendOK(#"PUT a/schema {"additionalProperties":true}"#).cursorText
        try stream.expect("commit", schema, #"{"changes":[],"schemaRevision":{"a":"*"}}"#)
        let dropped = try daemon.sendOK("DELETE b?drop").cursorText
        try stream.expect("commit", dropped, #"{"dropped":["b"],"changes":[{"suite":"b","key":"y","source":"unset"}]}"#)
    }

    @Test("A stream of a suite prefix shows new and dropped suites")
    func suitePrefix() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app.a/keys/x 1")
        let stream = try daemon.stream("GET /v1/observe?suitePrefix=app.&suite=zz")
        try stream.expect(
            "state", try daemon.cursor(), #"{"values":{"app.a":{"x":1}},"missing":["zz"],"schemaRevision":{"app.a":0}}"#
        )
        try daemon.sendOK("PUT other/keys/a 1")
        let created = try daemon.sendOK(#"PUT app.b/schema {"additionalProperties":true}"#).cursorText
        try stream.expect("commit", created, #"{"changes":[],"schemaRevision":{"app.b":"*"}}"#)
        let set = try daemon.sendOK("PUT app.b/keys/y 2").cursorText
        try stream.expect("commit", set, #"{"changes":[{"suite":"app.b","key":"y","old":null,"new":2}]}"#)
        let dropped = try daemon.sendOK("DELETE app.a?drop").cursorText
        try stream.expect("commit", dropped, #"{"dropped":["app.a"],"changes":[{"suite":"app.a","source":"unset"}]}"#)
        let again = try daemon.stream("GET /v1/observe?suitePrefix=app.", lastEventID: created)
        for cursor in [set, dropped] { #expect(try again.commit().id == cursor) }
    }

    @Test("A stream shows the drop of its suite and the suite that is created afterwards")
    func drop() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(#"PUT app {"a":1,"b":2}"#)
        let stream = try daemon.stream("GET app/observe?key=a")
        try stream.expect("state", try daemon.cursor(), #"{"values":{"a":1}}"#)
        let dropped = try daemon.sendOK("DELETE app?drop=true").cursorText
        try stream.expect(
            "commit", dropped, #"{"dropped":true,"changes":[{"key":"a","old":1,"new":null,"source":"unset"}]}"#)
        try daemon.sendOK("PUT app/keys/b 3")
        let created = try daemon.sendOK("PUT app/keys/a 4").cursorText
        // The commit of `b` creates the suite, and changes no watched key. The daemon sends an event without changes
        // for this commit, or combines the commit with the next event.
        var event = try stream.commit()
        if event.changes.isEmpty { event = try stream.commit() }
        #expect(event.id == created)
        #expect(event.changes.compactMap { $0["new"]?.integer } == [4])
    }

    @Test(
        "wait, limit and latest are refused for event streams",
        arguments: [
            "wait=1", "limit=5", "latest", "wait=1&limit=5&latest=true",
        ])
    func parameters(query: String) throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let refused = try daemon.send(Request("GET app/observe?\(query)", "Accept: text/event-stream"))
        #expect(refused.status == 400)
        #expect(refused.json?["code"] == "bad_request")
        let head = try daemon.send(Request("HEAD app/observe?\(query)", "Accept: text/event-stream"))
        #expect(head.status == 400)
    }

    @Test(
        "A stream is sent if Accept gives it a higher q-value than JSON, or names it with the same q-value as JSON",
        arguments: [
            ("text/event-stream", true), ("text/html, text/event-stream;q=0.5", true), ("TEXT/Event-Stream", true),
            ("*/*", false), ("application/json", false), ("text/event-stream;q=0", false),
            ("text/event-streams", false), ("text/event-stream;q=0.1, application/json", false),
            ("text/event-stream;q=0.1, application/json;q=0.2", false), ("text/event-stream;q=0.1, */*", false),
            ("text/event-stream;q=0.1, application/*;q=0.05, */*", true), ("text/event-stream, */*", true),
            ("text/event-stream, application/json", true), ("application/json;q=0.9, text/event-stream;q=0.90", true),
            ("text/*, application/json;q=0.5", true), ("text/event-stream; Q=0.3 , application/json; q=0.4", false),
            ("text/event-stream;q=2", false), ("text/event-stream;q=", false), ("text/html", false), (",;q=1", false),
        ])
    func accept(value: String, isStream: Bool) throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let client = try daemon.connect()
        try client.send(Request("GET app/observe", "Accept: \(value)").bytes)
        let head = try client.readHead()
        #expect(head.field("Content-Type") == (isStream ? "text/event-stream" : "application/json"))
        #expect(head.field("Vary") == "Accept")
    }

    @Test("Answers that depend on Accept, errors included, have Vary: Accept; other answers do not")
    func vary() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let cursor = try daemon.cursor()
        for (request, status) in [
            ("GET app/observe", 200), ("HEAD app/observe", 200), ("GET app/observe?wait=0&since=\(cursor)", 200),
            ("GET app/observe?since=zzzz.1", 200), ("GET zz/observe", 404),
            ("GET zz/observe?wait=1", 404), ("GET /v1/observe?suite=app", 200), ("GET /v1/observe", 400),
        ] {
            let answer = try daemon.send(Request(request))
            #expect(answer.status == status && answer.field("Vary") == "Accept", "\(request): \(answer.fields)")
        }
        for request in ["GET app", "GET app/keys/a", "GET zz", "PUT app/keys/a 2"] {
            #expect(try daemon.send(Request(request)).field("Vary") == nil)
        }
    }

    @Test(
        "The stream of a missing suite starts with `missing` and sends a reset when the suite is created",
        // No cursor, a cursor of another epoch, and the current cursor.
        arguments: [nil, "zzzz.1", "CURSOR"])
    func missing(since: String?) throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT other/keys/a 1")
        let before = try daemon.cursor()
        let stream = try daemon.stream("GET app/observe?key=a", lastEventID: since?.replacing("CURSOR", with: before))
        #expect(stream.head.status == 200)
        let missing = try stream.expect("missing", before, #"{"suite":"app","cursor":"*","revision":"*"}"#)
        #expect(missing["cursor"]?.string == before)
        try daemon.sendOK("PUT other/keys/a 2")
        let created = try daemon.sendOK(#"PUT app {"a":1,"b":2}"#).cursorText
        let state = try stream.expect("reset", created, #"{"suite":"app","reset":true,"changes":[]}"#)
        #expect(state["values"] == ["a": 1])
        let next = try daemon.sendOK("PUT app/keys/a 5").cursorText
        try stream.expect("commit", next, #"{"changes":[{"key":"a","old":1,"new":5}]}"#)
        stream.client.endSending()
        #expect(try stream.event() == nil)
        try daemon.awaitWatchers(0)
    }

    @Test("After a missing suite was created and dropped repeatedly, its streams get a reset and reach the last commit")
    func createdAndDropped() throws {
        let daemon = try TestDaemon()
        let writer = try daemon.connect()
        // With this many streams, the suite is dropped again before the daemon serves some of the streams.
        let streams = try (1...300).map { _ in try daemon.stream("GET app/observe") }
        for stream in streams { #expect(try stream.event()?.type == "missing") }
        for _ in 1...20 {
            try writer.send(
                "PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n1"
                    + "DELETE /v1/suites/app?drop=true HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try writer.readResponse().status == 201)
            #expect(try writer.readResponse().status == 200)
        }
        let created = try daemon.sendOK("PUT app/keys/b 2").cursorText
        for stream in streams {
            var event = try #require(try stream.event())
            #expect(event.type == "reset", "\(event.data)")
            while event.lastEventID != created { event = try #require(try stream.event()) }
        }
    }

    @Test("HEAD returns the head of a stream, and later requests of the connection are answered")
    func head() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let client = try daemon.connect()
        try client.send(
            Request("HEAD app/observe", "Accept: text/event-stream").bytes + Request("GET app/keys/a?raw").bytes)
        let head = try client.readHead()
        #expect(head.status == 200)
        for (name, value) in [
            ("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache"), ("X-Accel-Buffering", "no"),
            ("X-Content-Type-Options", "nosniff"), ("Settings-Cursor", try daemon.cursor()),
        ] {
            #expect(head.field(name) == value, "\(name)")
        }
        #expect(head.field("Content-Length") == nil)
        #expect(head.field("Transfer-Encoding") == "chunked")
        #expect(try client.readResponse().text == "1")
        #expect(try daemon.send(Request("HEAD zz/observe", "Accept: text/event-stream")).status == 200)
        #expect(try daemon.connect().watcherCount() == 0)
    }

    @Test("For HTTP/1.0, a stream is sent without chunks")
    func old() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let stream = try daemon.stream(Request("GET app/observe").with(version: "HTTP/1.0"))
        #expect(stream.head.field("Transfer-Encoding") == nil)
        #expect(stream.head.field("Connection") == "close")
        try stream.expect("state", try daemon.cursor(), #"{"values":{"a":1}}"#)
        let cursor = try daemon.sendOK("PUT app/keys/a 2").cursorText
        try stream.expect("commit", cursor, #"{"changes":[{"new":2}]}"#)
    }

    @Test("A stream follows the answers to earlier requests and ends when the client closes its sending side")
    func pipelined() throws {
        let daemon = try TestDaemon()
        let client = try daemon.connect()
        try client.send(Request("PUT app/keys/a 1").bytes + Request("GET app/keys/a?raw").bytes)
        let request = Request("GET app/observe", "Accept: text/event-stream")
        #expect(try client.ask(request).status == 201)
        #expect(try client.readResponse().text == "1")
        // The request was sent above, so the reader sends no bytes.
        let stream = try EventStreamReader(client, [])
        try stream.expect("state", try daemon.cursor(), #"{"values":{"a":1}}"#)
        client.endSending()
        #expect(try stream.event() == nil)
        #expect(stream.hasEnded)
        try daemon.awaitWatchers(0)
    }
}
