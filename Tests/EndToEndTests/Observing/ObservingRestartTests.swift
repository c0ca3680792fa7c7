import SettingsModel
import TestSupport
import Testing

/// A place in history is one after a restart as well.
@Suite(.ownThread)
struct ObservingRestartTests {
    private func request(_ text: String, on port: UInt16, _ fields: String...) throws -> RawResponse {
        var request = Request(text)
        request.fields = fields
        let client = try RawClient(port: port)
        return try client.ask(request)
    }

    /// Everything since a place, asked for on and on with a small limit.
    private func changes(of suite: String, since: String, on port: UInt16) throws -> [Int64] {
        var (cursor, found): (String, [Int64]) = (since, [])
        while true {
            let answer = try request("GET \(suite)/observe?since=\(cursor)&wait=0&limit=3", on: port)
            #expect(answer.status == 200)
            #expect(answer.json?["reset"] == nil)
            let changes = try #require(answer.json?["changes"]?.array)
            for change in changes {
                #expect(change["old"]?.integer == (found.last ?? (change["old"]?.integer)))
                found.append(try #require(change["new"]?.integer))
            }
            cursor = try #require(answer.json?["cursor"]?.string)
            if answer.json?["more"] == nil { return found }
        }
    }

    @Test("Whoever was away for a restart hears what happened before it and after it", arguments: [true, false])
    func restart(isClean: Bool) throws {
        let directory = try TemporaryDirectory()
        var daemon = try DaemonProcess(data: directory.path)
        #expect(try request("PUT app/keys/n 0", on: daemon.port).status == 201)
        let first = try request("GET app/observe", on: daemon.port)
        let since = try #require(first.json?["cursor"]?.string)
        var value: Int64 = 0
        for _ in 0..<3 {
            for _ in 0..<10 {
                value += 1
                #expect(try request("PUT app/keys/n \(value)", on: daemon.port).status == 200)
            }
            if isClean {
                daemon.process.signal(15)
                #expect(try daemon.process.end().code == 0)
            } else {
                try daemon.killAtOnce()
            }
            daemon = try DaemonProcess(data: directory.path)
            #expect(try changes(of: "app", since: since, on: daemon.port) == Array(1...value))
            let epoch = try request("GET app/observe", on: daemon.port).json?["cursor"]?.string?.split(separator: ".")[
                0]
            #expect(epoch == since.split(separator: ".")[0])
        }
        // And waits on from there.
        let stream = try EventStreamReader(
            RawClient(port: daemon.port),
            Request("GET app/observe", "Accept: text/event-stream", "Last-Event-ID: \(since)").bytes)
        for expected in 1...value {
            #expect(try stream.commit().changes.compactMap { $0["new"]?.integer } == [expected])
        }
        #expect(try request("PUT app/keys/n 99", on: daemon.port).status == 200)
        #expect(try stream.commit().changes.compactMap { $0["new"]?.integer } == [99])
    }

    @Test("An end in a mode that can lose writes begins another history, and everybody anew")
    func lost() throws {
        let directory = try TemporaryDirectory()
        let options = ["--durability", "interval"]
        var daemon = try DaemonProcess(data: directory.path, options: options)
        #expect(try request("PUT app/keys/n 1", on: daemon.port).status == 201)
        let since = try #require(try request("GET app/observe", on: daemon.port).json?["cursor"]?.string)
        try daemon.killAtOnce()
        daemon = try DaemonProcess(data: directory.path, options: options)
        #expect(try request("PUT app/keys/n 7", on: daemon.port).status < 300)
        let answer = try request("GET app/observe?since=\(since)&wait=300", on: daemon.port)
        #expect(answer.status == 200)
        #expect(answer.json?["reset"] == true)
        #expect(answer.json?["values"] == ["n": 7])
        let stream = try EventStreamReader(
            RawClient(port: daemon.port),
            Request("GET app/observe", "Accept: text/event-stream", "Last-Event-ID: \(since)").bytes)
        let id = try #require(answer.json?["cursor"]?.string)
        try stream.expect("reset", id, #"{"reset":true,"values":{"n":7}}"#)
    }

    @Test("The daemon as a process answers who waits when it is told to end", arguments: [15, 2])
    func stop(signal: Int32) throws {
        let directory = try TemporaryDirectory()
        let daemon = try DaemonProcess(data: directory.path)
        #expect(try request("PUT app/keys/n 0", on: daemon.port).status == 201)
        let cursor = try request("GET /v1", on: daemon.port).cursorText
        let metrics = RawMetrics(client: try RawClient(port: daemon.port))
        let poll = try RawClient(port: daemon.port)
        try poll.send(Request("GET app/observe?since=\(cursor)").bytes)
        let stream = try EventStreamReader(
            RawClient(port: daemon.port), Request("GET app/observe", "Accept: text/event-stream").bytes)
        try stream.expect("state", cursor, "{}")
        try metrics.await(2)
        daemon.process.signal(signal)
        let answer = try poll.readResponse()
        #expect(answer.json?["cursor"]?.string == cursor)
        #expect(answer.field("Connection") == "close")
        #expect(answer.json?["retryAfterMs"]?.integer != nil)
        #expect(try stream.event() == nil)
        poll.close()
        stream.client.close()
        #expect(try daemon.process.end().code == 0)
    }
}
