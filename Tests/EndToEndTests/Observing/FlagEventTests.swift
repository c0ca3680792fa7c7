import SettingsAPI
import SettingsModel
import SettingsServer
import SettingsStorage
import SettingsWeb
import TestSupport
import Testing

/// The event stream that tells OpenFeature SDKs to evaluate the flags of a suite again. A target such as `app/keys/a`
/// is relative to `/v1/suites/`.
@Suite(.ownThread)
struct FlagEventTests {
    static let request: Request = "GET app/ofrep/v1/events"

    /// Reads an event, which must have this cursor and tell the SDK to evaluate the flags again.
    private func expectRefetch(
        _ stream: EventStreamReader, _ cursor: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let tag = try #require(cursor.split(separator: ".").last)
        let data = try stream.expect(
            "message", cursor, #"{"type":"refetchEvaluation","etag":"\"\#(tag)\"","lastModified":"*"}"#,
            sourceLocation: sourceLocation)
        let seconds = try #require(data["lastModified"]?.integer)
        #expect(abs(seconds - Timestamp.now().milliseconds / 1000) < 600, sourceLocation: sourceLocation)
    }

    @Test("Each commit of the suite is an event with the new tag; commits of other suites send no event")
    func commits() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/k 1")
        let stream = try daemon.stream(Self.request)
        #expect(stream.head.status == 200 && stream.head.field("Content-Type") == "text/event-stream")
        try daemon.awaitWatchers(1)
        try expectRefetch(stream, try daemon.sendOK("PUT app/keys/k 2").cursorText)
        // These writes send no event; the second write changes nothing.
        try daemon.sendOK("PUT other/keys/k 2")
        try daemon.sendOK("PUT app/keys/k 2")
        try expectRefetch(stream, try daemon.sendOK(Samples.schema.allowing("k")).cursorText)
        try expectRefetch(stream, try daemon.sendOK("DELETE app?drop").cursorText)
        try expectRefetch(stream, try daemon.sendOK("PUT app/keys/k 3").cursorText)
    }

    @Test("The stream ignores Accept, and HEAD returns its head")
    func accept() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/k 1")
        let client = try daemon.connect()
        try client.send(Request("GET app/ofrep/v1/events", "Accept: application/json").bytes)
        #expect(try client.readHead().field("Content-Type") == "text/event-stream")
        let head = try daemon.send("HEAD app/ofrep/v1/events")
        #expect(head.status == 200 && head.field("Content-Type") == "text/event-stream" && head.body.isEmpty)
    }

    @Test("A stream resumes after Last-Event-ID; a stream that is read late has all commits after its start")
    func resumes() throws {
        let daemon = try TestDaemon()
        let first = try daemon.sendOK("PUT app/keys/k 1").cursorText
        let readLate = try daemon.stream(Self.request)
        let cursors = try (2...4).map { try daemon.sendOK(Request("PUT app/keys/k \($0)")).cursorText }
        for cursor in cursors { try expectRefetch(readLate, cursor) }
        for start in 0..<3 {
            let known = start == 0 ? first : cursors[start - 1]
            let stream = try daemon.stream(Self.request, lastEventID: known)
            for cursor in cursors[start...] { try expectRefetch(stream, cursor) }
        }
    }

    @Test(
        "A stream after a cursor of an unknown epoch starts with an event, because everything may have changed",
        arguments: [true, false])
    func resets(suiteExists: Bool) throws {
        let daemon = try TestDaemon()
        if suiteExists { try daemon.sendOK("PUT app/keys/k 1") }
        let stream = try daemon.stream(Self.request, lastEventID: "zzzz.7")
        let event = try #require(try stream.event())
        #expect(event.type == "message")
        #expect(try event.lastEventID == daemon.cursor())
        try expectRefetch(stream, try daemon.sendOK("PUT app/keys/k 2").cursorText)
    }

    @Test("The stream of a missing suite sends an event for its first commit")
    func absent() throws {
        let daemon = try TestDaemon()
        let stream = try daemon.stream(Self.request)
        try daemon.awaitWatchers(1)
        try expectRefetch(stream, try daemon.sendOK("PUT app/keys/k 1").cursorText)
        try expectRefetch(stream, try daemon.sendOK("PUT app/keys/k 2").cursorText)
    }

    @Test("An error has the form of the OpenFeature protocol")
    func errors() throws {
        // The limit on watchers refuses the last request, which has no other error.
        let daemon = try TestDaemon { $0.watchers.total = 0 }
        for request in [
            Request("GET app/ofrep/v1/events", "Last-Event-ID: nonsense"), "GET app/ofrep/v1/events?since=1",
            "POST app/ofrep/v1/events", Self.request,
        ] {
            let answer = try daemon.send(request)
            #expect([400, 405, 429].contains(answer.status) && answer.type == "application/json", "\(request)")
            #expect(answer.json?["errorCode"] == (answer.status == 400 ? "PARSE_ERROR" : "GENERAL"), "\(answer.text)")
            #expect((answer.field("Retry-After") != nil) == (answer.status == 429))
        }
    }
}

extension Request {
    /// The request that sets `Samples.schema`, with keys that begin with `prefix` also allowed.
    fileprivate func allowing(_ prefix: String) -> Request {
        let text = String(decoding: body, as: UTF8.self)
        return with(body: Array(text.replacing("\"^x-\"", with: "\"^\(prefix)\":true,\"^x-\"").utf8))
    }
}
