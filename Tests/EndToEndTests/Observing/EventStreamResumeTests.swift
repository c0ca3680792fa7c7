import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Event streams that are interrupted and resumed. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct EventStreamResumeTests {
    /// A daemon whose setting `n` was written with each number from 0 to `count`, and the cursor after each write.
    private func daemonWithNumbers(_ count: Int) throws -> (TestDaemon, cursors: [String]) {
        let daemon = try TestDaemon()
        return (daemon, try (0...count).map { try daemon.sendOK(Request("PUT app/keys/n \($0)")).cursorText })
    }

    /// The value of `n` after an event with a commit or a state.
    private func number(_ event: EventStreamParser.Event) throws -> Int64 {
        let data = try JSONValue(parsing: event.data)
        let change = data["changes"]?.array?.last?["new"]?.integer
        return try #require(event.type == "commit" ? change : data["values"]?["n"]?.integer)
    }

    @Test("A stream resumes after a cursor in Last-Event-ID or in `since`, or after a revision", arguments: [0, 3, 5])
    func resumes(start: Int) throws {
        let (daemon, cursors) = try daemonWithNumbers(5)
        let revision = try #require(cursors[start].split(separator: ".").last)
        let streams = [
            try daemon.stream("GET app/observe", lastEventID: cursors[start]),
            try daemon.stream(Request("GET app/observe?since=\(cursors[start])")),
            try daemon.stream(Request("GET app/observe?since=\(revision)")),
            // A web page keeps the `since` of its first request, so Last-Event-ID overrides `since`.
            try daemon.stream(Request("GET app/observe?since=\(cursors[1])"), lastEventID: cursors[start]),
            try daemon.stream(Request("GET app/observe?since=zzzz.1"), lastEventID: cursors[start]),
            try daemon.stream(Request("GET app/observe?since=nonsense"), lastEventID: cursors[start]),
            // An empty Last-Event-ID is ignored.
            try daemon.stream(Request("GET app/observe?since=\(cursors[start])"), lastEventID: ""),
        ]
        let last = try daemon.sendOK("PUT app/keys/n 6").cursorText
        for stream in streams {
            for index in (start + 1)..<7 {
                let id = index < 6 ? cursors[index] : last
                try stream.expect("commit", id, #"{"changes":[{"key":"n","old":\#(index - 1),"new":\#(index)}]}"#)
            }
        }
    }

    @Test("A stream after a cursor of an unknown epoch starts with a reset", arguments: ["zzzz.1", "zzzz.99999"])
    func resets(id: String) throws {
        let (daemon, cursors) = try daemonWithNumbers(2)
        let stream = try daemon.stream("GET app/observe", lastEventID: id)
        try stream.expect("reset", cursors[2], #"{"reset":true,"values":{"n":2},"changes":[]}"#)
        let next = try daemon.sendOK("PUT app/keys/n 3").cursorText
        try stream.expect("commit", next, #"{"changes":[{"old":2,"new":3}]}"#)
    }

    @Test("A stream after a cursor older than the history starts with a reset")
    func old() throws {
        let daemon = try TestDaemon { $0.history.commits = 2 }
        let cursors = try (0...4).map { try daemon.sendOK(Request("PUT app/keys/n \($0)")).cursorText }
        try daemon.stream("GET app/observe", lastEventID: cursors[0]).expect(
            "reset", cursors[4], #"{"values":{"n":4}}"#)
        try daemon.stream("GET app/observe", lastEventID: cursors[3]).expect("commit", cursors[4], "{}")
    }

    @Test("A malformed cursor returns 400", arguments: ["x", "1.2.3", "-1", "e.99999999999999999999"])
    func nonsense(id: String) throws {
        let (daemon, _) = try daemonWithNumbers(0)
        let request = Request("GET app/observe", "Accept: text/event-stream", "Last-Event-ID: \(id)")
        #expect(try daemon.send(request).status == 400)
    }

    @Test("A reader whose stream was cut at any byte resumes without a gap and without a repetition")
    func cuts() throws {
        let (daemon, cursors) = try daemonWithNumbers(4)
        for start in [nil, cursors[0], cursors[2], cursors[4]] {
            // A web page keeps the `since` of its first request and sends a newer Last-Event-ID.
            let request = Request("GET app/observe" + (start == nil ? "" : "?since=\(cursors[0])"))
            let stream = try daemon.stream(request, lastEventID: start)
            try daemon.awaitWatchers(1)
            // The number in the state at the start of the stream: the stream has an event for each later number up to
            // 4. A stream without a cursor has one event, the state with the number 4, as if it started at 3.
            let startNumber = start.flatMap { cursors.firstIndex(of: $0) } ?? 3
            for _ in startNumber..<4 { #expect(try stream.event() != nil) }
            stream.client.endSending()
            #expect(try stream.event() == nil)
            try daemon.awaitWatchers(0)
            // The last number that a reader knows, by the Last-Event-ID with which the reader resumes. The number is -1
            // if the stream began without a cursor and the reader has received no event.
            var knownNumbers: [String: Int64] = [:]
            for cut in 0...stream.received.count {
                var parser = EventStreamParser(lastEventID: start ?? "")
                let known =
                    try parser.feed(stream.received[..<cut]).last.map(number)
                    ?? (start == nil ? -1 : Int64(startNumber))
                let id = parser.lastEventID
                #expect(start == nil || !id.isEmpty, "cut at \(cut) of \(stream.received.count)")
                #expect(knownNumbers[id, default: known] == known, "cut at \(cut) of \(stream.received.count)")
                knownNumbers[id] = known
            }
            for (id, known) in knownNumbers {
                let next = try daemon.stream(request, lastEventID: id)
                for number in (known < 0 ? 4 : known + 1)..<5 {
                    let event = try next.event()
                    #expect(try self.number(#require(event)) == number)
                }
            }
        }
    }

    @Test("A reader that reconnects repeatedly during writes misses no change")
    func reconnections() throws {
        let (daemon, cursors) = try daemonWithNumbers(0)
        var random = SeededGenerator(seed: 20)
        let writer = try daemon.connect()
        var (id, received, written) = (cursors[0], 0, 0)
        while received < 400 {
            let stream = try daemon.stream("GET app/observe", lastEventID: id)
            let burst = min(400 - written, random.below(40))
            try writer.send((0..<burst).flatMap { Request("PUT app/keys/n \(written + 1 + $0)").bytes })
            written += burst
            for _ in 0..<random.below(written - received + 1) {
                let commit = try stream.commit()
                received += 1
                #expect(commit.changes.compactMap { $0["old"]?.integer } == [Int64(received - 1)])
                #expect(commit.changes.compactMap { $0["new"]?.integer } == [Int64(received)])
                id = commit.id
            }
            if random.chance(oneIn: 2) { stream.client.reset() } else { stream.client.close() }
            for _ in 0..<burst { #expect(try writer.readResponse().status == 200) }
        }
        try daemon.awaitWatchers(0)
    }

    @Test("When the daemon stops, a stream ends properly with its cursor and a retry delay")
    func stop() throws {
        let (daemon, cursors) = try daemonWithNumbers(2)
        let streams = [
            try daemon.stream("GET app/observe"), try daemon.stream("GET app/observe", lastEventID: cursors[1]),
        ]
        for stream in streams { #expect(try stream.event()?.lastEventID == cursors[2]) }
        // A commit of another suite sends no event, but it advances the cursor that the stream sends at its end.
        let newestCursor = try daemon.sendOK("PUT other/keys/a 1").cursorText
        daemon.stop()
        for stream in streams {
            #expect(try stream.event() == nil)
            #expect(stream.hasEnded)
            #expect(stream.lastEventID == newestCursor)
            let delay = try #require(stream.parser.retry)
            #expect((1...10_000).contains(delay))
            #expect(try stream.client.readUntilClose().isEmpty)
        }
    }
}
