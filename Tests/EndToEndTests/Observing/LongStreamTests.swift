import HTTPServer
import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Streams with large states and backlogs, and slow readers. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct LongStreamTests {
    @Test("A state of 20,000 keys is sent completely, followed by the commits made in the meantime")
    func largeState() throws {
        let daemon = try TestDaemon()
        let members = (0..<20_000).map { #""key\#(100_000 + $0)":"value \#($0)""# }.joined(separator: ",")
        try daemon.sendOK(Request("PUT app {\(members)}"))
        let stream = try daemon.stream("GET app/observe")
        let cursor = try daemon.sendOK("PUT app/keys/key100000 1").cursorText
        let event = try #require(try stream.event())
        #expect(event.type == "state")
        let state = try JSONValue(parsing: event.data)
        #expect(state["values"]?.object?.count == 20_000)
        #expect(state["cursor"]?.string == event.lastEventID)
        // The state may already include the write.
        if event.lastEventID != cursor { try stream.expect("commit", cursor, #"{"changes":[{"new":1}]}"#) }
        let next = try daemon.sendOK("PUT app/keys/key119999 2").cursorText
        try stream.expect("commit", next, #"{"changes":[{"old":"value 19999","new":2}]}"#)
    }

    /// Makes `count` commits of a number and a text of `size` letters; returns the cursor before them.
    private func write(_ count: Int, _ daemon: TestDaemon, size: Int) throws -> String {
        try daemon.sendOK("PUT app/keys/n 0")
        let cursor = try daemon.cursor()
        let writer = try daemon.connect()
        let text = String(repeating: "x", count: size)
        for start in stride(from: 1, through: count, by: 100) {
            let numbers = start..<min(start + 100, count + 1)
            try writer.send(numbers.flatMap { Request(#"PATCH app {"n":\#($0),"text":"\#($0)\#(text)"}"#).bytes })
            for _ in numbers { try #require(try writer.readResponse().status == 200) }
        }
        return cursor
    }

    @Test("A long backlog is sent commit by commit, each once, followed by new commits")
    func backlog() throws {
        let daemon = try TestDaemon()
        let count = 5_000
        let cursor = try write(count, daemon, size: 200)
        let stream = try daemon.stream("GET app/observe", lastEventID: cursor, receiveBuffer: 65_536)
        // The backlog is larger than the stream's buffer. The daemon serves other requests and does not close the
        // stream.
        #expect(try daemon.send("GET app/keys/n?raw").text == "\(count)")
        let last = try daemon.sendOK(Request("PATCH app {\"n\":\(count + 1)}")).cursorText
        for number in 1...(count + 1) {
            let commit = try stream.commit()
            try #require(commit.changes.first?["new"]?.integer == Int64(number))
            if number > count { #expect(commit.id == last) }
        }
        let next = try daemon.sendOK("PUT app/keys/n 0").cursorText
        #expect(try stream.commit().id == next)
    }

    @Test("A long poll with a limit returns a long backlog in pages")
    func pages() throws {
        let daemon = try TestDaemon()
        let count = 5_000
        var cursor = try write(count, daemon, size: 10)
        let client = try daemon.connect()
        var next: Int64 = 1
        while true {
            let answer = try client.ask(Request("GET app/observe?key=n&limit=700&since=\(cursor)&wait=0"))
            let changes = try #require(answer.json?["changes"]?.array)
            for change in changes {
                try #require(change["new"]?.integer == next)
                next += 1
            }
            cursor = try #require(answer.json?["cursor"]?.string)
            if answer.json?["more"] == nil { break }
            #expect(changes.count == 700)
        }
        #expect(next == Int64(count) + 1)
        #expect(try client.ask("GET app/observe?key=zz&since=0&wait=0").json?["changes"] == [])
    }

    @Test(
        "A reader that falls behind by several large commits receives all of them",
        arguments: [false, true])
    func largeCommits(isHalfClosed: Bool) throws {
        // By default, the daemon disconnects a reader that falls behind for two seconds.
        let daemon = try TestDaemon { $0.transport.streamTime = 600 * TransportLimits.second }
        try daemon.sendOK("PUT app/keys/n 0")
        let stream = try daemon.stream("GET app/observe", receiveBuffer: 4096)
        #expect(try stream.event()?.type == "state")
        let text = String(repeating: "x", count: 80_000)
        // With the old values, each event is larger than a megabyte; the kernel buffers only a few events.
        for number in 1...12 {
            let members = (0..<8).map { #""k\#($0)":"\#(text)\#(number)""# }.joined(separator: ",")
            try daemon.sendOK(Request(#"PATCH app {"n":\#(number),\#(members)}"#))
        }
        if isHalfClosed { stream.client.endSending() }
        for number in 1...12 {
            let commit = try stream.commit()
            try #require(commit.changes.contains { $0["key"] == "n" && $0["new"]?.integer == Int64(number) })
        }
        guard isHalfClosed else { return }
        #expect(try stream.event() == nil)
        #expect(stream.hasEnded)
    }

    @Test("A stalled reader is disconnected, delays no other reader, and can resume after its last event")
    func unread() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/n 0")
        let (stalled, quick) = (
            try daemon.stream("GET app/observe", receiveBuffer: 4096), try daemon.stream("GET app/observe")
        )
        #expect(try stalled.event()?.type == "state")
        #expect(try quick.event()?.type == "state")
        try daemon.awaitWatchers(2)
        let metrics = try daemon.connect()
        let text = String(repeating: "x", count: 200_000)
        var written = 0
        // The kernel's buffer for the stalled reader adds to the daemon's buffer, so the number of writes is not known.
        while try metrics.watcherCount() == 2 {
            written += 1
            try #require(written < 500, "the daemon did not disconnect the stalled reader")
            try daemon.sendOK(Request(#"PATCH app {"n":\#(written),"text":"\#(written)\#(text)"}"#))
            #expect(try quick.commit().changes.first?["new"]?.integer == Int64(written))
        }
        #expect(try metrics.watcherCount() == 1)
        var received: Int64 = 0
        while let event = try? stalled.event() {
            received += 1
            #expect(try JSONValue(parsing: event.data)["changes"]?.array?.first?["new"]?.integer == received)
        }
        #expect(received < written)
        #expect(!stalled.hasEnded)
        let resumed = try daemon.stream("GET app/observe", lastEventID: stalled.lastEventID)
        while received < written {
            received += 1
            #expect(try resumed.commit().changes.first?["new"]?.integer == received)
        }
    }
}

/// Commits that are too large for one event buffer or for the history.
@Suite(.ownThread)
struct LargeCommitTests {
    private static let size = 6_000

    /// A write of 6,000 keys with a value.
    private func largeWrite(_ value: Int) -> Request {
        let members = (0..<Self.size).map { #""key\#(10_000 + $0)":\#(value)"# }.joined(separator: ",")
        return Request("PATCH app {\(members)}")
    }

    @Test("A commit of thousands of keys reaches every stream completely and once, in order with later commits")
    func live() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/n 0")
        let streams = try (0..<20).map { _ in try daemon.stream("GET app/observe") }
        for stream in streams { #expect(try stream.event()?.type == "state") }
        var cursors: [String] = []
        // Each round makes one large commit and three small commits.
        for round in 1...3 {
            cursors.append(try daemon.sendOK(largeWrite(round)).cursorText)
            for _ in 0..<3 { cursors.append(try daemon.sendOK(Request("PUT app/keys/n \(cursors.count)")).cursorText) }
        }
        let late = try daemon.stream("GET app/observe", lastEventID: streams[0].lastEventID)
        for stream in streams + [late] {
            for (position, cursor) in cursors.enumerated() {
                let commit = try stream.commit()
                #expect(commit.id == cursor)
                #expect(commit.changes.count == (position % 4 == 0 ? Self.size : 1))
            }
        }
        let last = try daemon.sendOK("PUT app/keys/n -1").cursorText
        for stream in streams + [late] { #expect(try stream.commit().id == last) }
    }

    @Test("A stream receives the drop of its suite even if the commit is too large for the history")
    func drop() throws {
        let daemon = try TestDaemon { $0.history.bytes = 4096 }
        try daemon.sendOK(largeWrite(1))
        let stream = try daemon.stream("GET app/observe")
        #expect(try stream.event()?.type == "state")
        let cursor = try daemon.sendOK("DELETE app?drop=true").cursorText
        try stream.expect("commit", cursor, #"{"dropped":true,"changes":[]}"#)
        let again = try daemon.sendOK("PUT app/keys/n 1").cursorText
        try stream.expect("commit", again, #"{"changes":[{"key":"n","new":1}]}"#)
    }
}

/// Watchers whose backlog is so long that a background thread searches the history.
@Suite(.ownThread)
struct LongBacklogTests {
    @Test(
        "During the search of history, a watcher that disconnects is removed, and a half-closed watcher gets an answer")
    func leaving() throws {
        let daemon = try TestDaemon()
        let writer = try daemon.connect()
        for batch in 0..<50 {
            let writes = (0..<100).map { Request("PUT app/keys/a \(batch * 100 + $0)").bytes }
            try writer.send(Array(writes.joined()))
            for _ in writes { #expect(try writer.readResponse().status < 300) }
        }
        let request = Request("GET app/observe?since=1&key=b&wait=300").bytes
        for _ in 0..<20 {
            let client = try daemon.connect()
            try client.send(request)
            client.reset()
        }
        for _ in 0..<5 {
            let client = try daemon.connect()
            try client.send(request)
            client.endSending()
            #expect(try client.readResponse().json?["changes"] == [])
        }
        try daemon.awaitWatchers(0)
        let client = try daemon.connect()
        try client.send(request)
        try daemon.awaitWatchers(1)
        try daemon.sendOK("PUT app/keys/b 1")
        #expect(try client.readResponse().json?["changes"]?.array?.count == 1)
    }
}
