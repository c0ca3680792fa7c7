import Glibc
import SettingsModel
import TestSupport
import Testing

/// Watchers and their cursors when the daemon stops or restarts. With the durability `always`, which is the default,
/// cursors stay valid after a restart. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct ObservingRestartTests {
    /// The new values of all changes after a cursor, requested in pages of three.
    private func changes(of suite: String, since: String, on daemon: TestDaemon) throws -> [Int64] {
        var (cursor, found): (String, [Int64]) = (since, [])
        while true {
            let answer = try daemon.send(Request("GET \(suite)/observe?since=\(cursor)&wait=0&limit=3"))
            #expect(answer.status == 200)
            #expect(answer.json?["reset"] == nil)
            let changes = try #require(answer.json?["changes"]?.array)
            for change in changes {
                if let last = found.last { #expect(change["old"]?.integer == last) }
                found.append(try #require(change["new"]?.integer))
            }
            cursor = try #require(answer.json?["cursor"]?.string)
            if answer.json?["more"] == nil { return found }
        }
    }

    @Test(
        "A watcher that resumes after a restart receives the changes from before and after the restart",
        arguments: [true, false])
    func restart(isClean: Bool) throws {
        let directory = try TemporaryDirectory()
        var daemon = try TestDaemon(ownProcessIn: directory)
        #expect(try daemon.send("PUT app/keys/n 0").status == 201)
        let first = try daemon.send("GET app/observe")
        let since = try #require(first.json?["cursor"]?.string)
        var value: Int64 = 0
        for _ in 0..<3 {
            for _ in 0..<10 {
                value += 1
                #expect(try daemon.send(Request("PUT app/keys/n \(value)")).status == 200)
            }
            if isClean { daemon.stop() } else { try daemon.kill() }
            daemon = try TestDaemon(ownProcessIn: directory)
            #expect(try changes(of: "app", since: since, on: daemon) == Array(1...value))
            // The epoch stays the same.
            let cursor = try daemon.send("GET app/observe").json?["cursor"]?.string
            #expect(cursor?.split(separator: ".")[0] == since.split(separator: ".")[0])
        }
        // A stream resumes from the same cursor.
        let stream = try daemon.stream("GET app/observe", lastEventID: since)
        for expected in 1...value {
            #expect(try stream.commit().changes.compactMap { $0["new"]?.integer } == [expected])
        }
        #expect(try daemon.send("PUT app/keys/n 99").status == 200)
        #expect(try stream.commit().changes.compactMap { $0["new"]?.integer } == [99])
    }

    @Test("The start after a crash with the durability `interval` begins a new epoch, and watchers get a reset")
    func lost() throws {
        let directory = try TemporaryDirectory()
        let options = ["--durability", "interval"]
        var daemon = try TestDaemon(ownProcessIn: directory, options: options)
        #expect(try daemon.send("PUT app/keys/n 1").status == 201)
        let since = try #require(try daemon.send("GET app/observe").json?["cursor"]?.string)
        try daemon.kill()
        daemon = try TestDaemon(ownProcessIn: directory, options: options)
        #expect(try daemon.send("PUT app/keys/n 7").status < 300)
        let answer = try daemon.send(Request("GET app/observe?since=\(since)&wait=300"))
        #expect(answer.status == 200)
        #expect(answer.json?["reset"] == true)
        #expect(answer.json?["values"] == ["n": 7])
        let stream = try daemon.stream("GET app/observe", lastEventID: since)
        let id = try #require(answer.json?["cursor"]?.string)
        try stream.expect("reset", id, #"{"reset":true,"values":{"n":7}}"#)
    }

    @Test("On a signal, the daemon answers its watchers and then exits", arguments: [SIGTERM, SIGINT])
    func stop(signal: Int32) throws {
        let directory = try TemporaryDirectory()
        let daemon = try TestDaemon(ownProcessIn: directory)
        #expect(try daemon.send("PUT app/keys/n 0").status == 201)
        let cursor = try daemon.send("GET /v1").cursorText
        let poll = try daemon.connect()
        try poll.send(Request("GET app/observe?since=\(cursor)").bytes)
        let stream = try daemon.stream("GET app/observe")
        try stream.expect("state", cursor, "{}")
        try daemon.awaitWatchers(2)
        daemon.process?.signal(signal)
        let answer = try poll.readResponse()
        #expect(answer.json?["cursor"]?.string == cursor)
        #expect(answer.field("Connection") == "close")
        #expect(answer.json?["retryAfterMs"]?.integer != nil)
        #expect(try stream.event() == nil)
        poll.close()
        stream.client.close()
        #expect(try daemon.process?.end().code == 0)
    }
}
