import Foundation
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// All stored data and its history survive a clean restart and a crash. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct RestartTests {
    /// Requests with values and names of every kind, including values at their limits.
    static let writes: [Request] = [
        Request("PUT deep/keys/a \(nested(128))"), Request("PUT deep/keys/b \(nested(128))"),
        Request("PUT deep/keys/a \(nested(127))"),
        Request(#"PUT deep/schema?onConflict=keep {"additionalProperties":false,"x-deep":\#(nested(127))}"#),
        Request(#"PUT deep/schema?onConflict=keep {"additionalProperties":false,"x-deeper":\#(nested(127))}"#),
        #"PATCH app {"count":10,"volume":-0.0}"#, Samples.schema, "PUT app/keys/volume 5e-324", "DELETE app/keys/count",
        Samples.narrowSchema,
        Request(
            "PUT odd {\"é\":[1.0,1],\"e\u{301}\":{\"b\":1,\"a\":2},\"a/b%2F+\":9007199254740993,\"z\":\"\\u0000\"}"),
        Request("PUT odd/keys/\(String(repeating: "k", count: 256)) 9223372036854775807"),
        Request("PUT \(String(repeating: "s", count: 128))/keys/x null"),
        Request(#"PUT app/keys/volume 0.25"#, "Idempotency-Key: ~ !\""), "PUT gone/keys/a 1", "DELETE gone?drop",
        "PUT back/keys/a 1", "DELETE back?drop", "PUT back/keys/b 2",
        "PUT back/schema?onConflict=keep {\r\n \"additionalProperties\": {\"maximum\": 1e2}\n}\n",
    ]

    /// Nested arrays. A value may have 128 levels.
    static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    /// All suites with their values, keys and schemas now, and five of the suites at each revision up to `newest`.
    private func readAll(_ daemon: TestDaemon, upTo newest: Int64) throws -> String {
        var text = try daemon.readEverything()
        for suite in ["deep", "app", "odd", "gone", "back"] {
            for revision in 0...newest {
                text += try daemon.send(Request("GET \(suite)?at=\(revision)")).text
                text += try daemon.send(Request("GET \(suite)/keys?at=\(revision)")).text
            }
        }
        return text
    }

    @Test(
        "All data and history survive a crash and a clean restart")
    func restart() throws {
        let directory = try TemporaryDirectory()
        let first = try TestDaemon(ownProcessIn: directory)
        var newest: Int64 = 0
        for request in Self.writes { newest = try first.sendOK(request).revision?.number ?? 0 }
        let before = try readAll(first, upTo: newest)

        try first.kill()
        let crashed = try TestDaemon(in: directory)
        #expect(try readAll(crashed, upTo: newest) == before)
        crashed.stop()
        let again = try TestDaemon(in: directory)
        #expect(try readAll(again, upTo: newest) == before)
        try again.sendOK("PUT app/keys/volume 7")
        again.stop()
        let last = try TestDaemon(in: directory)
        #expect(try last.send("GET app/keys/volume?raw").text == "7")

        let repeated = Request(#"PUT app/keys/volume 0.25"#, "Idempotency-Key: ~ !\"")
        let answer = try last.send(repeated)
        #expect(answer.json?["replayed"] == true, "\(answer.text)")
        // After the drop of a suite, the keys of missing suites have the revision of the drop as their tag, not "0".
        // After a restart, the daemon still knows this revision.
        let guarded = try last.send(Request("PUT gone/keys/a 1", "If-Match: \"0\""))
        #expect(guarded.status == 412)
    }
}

/// Times of commits after a change of the system clock.
@Suite(.ownThread)
struct ClockTests {
    /// A directory whose last commit has a time this many seconds from now.
    private func directory(lastCommitIn seconds: TimeInterval) throws -> TemporaryDirectory {
        var data = try StoredData(version: "0.3")
        let name = data.newestJournal
        let journal = try #require(data.files[name])
        let line = journal.lastLine
        var text = String(decoding: journal[line], as: UTF8.self)
        let time = Date(timeIntervalSinceNow: seconds).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        text.replace(/"time":"[^"]*"/, with: "\"time\":\"\(time)\"")
        // The first 18 bytes of a line are the checksum.
        data.files[name]?.replaceSubrange(line, with: StoredData.journalLine(text.dropFirst(18)))
        return try data.write()
    }

    private func modified(_ answer: RawResponse) throws -> Date {
        let text = try #require(answer.json?["modified"]?.string)
        return try Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    @Test("A clock that was years ahead does not affect the times of later commits")
    func ahead() throws {
        // The time of the last commit is nine years ahead.
        let daemon = try TestDaemon(in: directory(lastCommitIn: 300_000_000))
        #expect(try modified(daemon.send("GET editor/keys/fontSize")) > Date(timeIntervalSinceNow: 200_000_000))
        for value in 1...2 {
            let time = try modified(daemon.sendOK(Request("PUT editor/keys/fontSize \(value)")))
            #expect(abs(time.timeIntervalSinceNow) < 60)
        }
        #expect(try modified(daemon.send("GET editor/keys/fontSize")) < Date(timeIntervalSinceNow: 60))
        daemon.stop()
        let again = try TestDaemon(in: daemon.directory)
        #expect(try modified(again.sendOK("PUT editor/keys/fontSize 3")) < Date(timeIntervalSinceNow: 60))
    }

    @Test("After a small step back of the clock, commit times do not decrease")
    func setBack() throws {
        // The last commit is 40 seconds ahead of the clock, as if the clock had been set back.
        let daemon = try TestDaemon(in: directory(lastCommitIn: 40))
        let last = try modified(daemon.send("GET editor/keys/fontSize"))
        #expect(try modified(daemon.sendOK("PUT editor/keys/other 1")) >= last)
    }
}

/// The answers to writes that fail on the disk.
@Suite(.ownThread)
struct DiskFailureTests {
    @Test("A write that fails on the disk returns the reason; only the log names the file")
    func path() throws {
        let directory = try TemporaryDirectory()
        // The limit on the file size, 64 blocks of 512 bytes, makes the write fail as on a full disk.
        let process = try ChildProcess(
            [
                "-c", #"trap '' XFSZ; ulimit -f 64; exec "$0" "$@""#, ChildProcess.daemonPath, "--listen",
                "127.0.0.1:0", "--data", directory.path,
            ], of: "/bin/sh")
        let line = try process.line(containing: "listening on http://127.0.0.1:")
        let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
        let client = try RawClient(port: port)
        let text = String(repeating: "x", count: 200_000)
        let answer = try client.ask(Request(#"PUT app/keys/a "\#(text)""#))
        #expect(answer.status == 503, "\(answer.text)")
        #expect(answer.json?["outcome"] == "not_done", "\(answer.text)")
        #expect(answer.text.contains("File too large"), "\(answer.text)")
        #expect(!answer.text.contains(directory.path), "\(answer.text)")
        #expect(!answer.text.contains("journal"), "\(answer.text)")
        #expect(try !client.ask("GET /readyz").text.contains(directory.path))
        #expect(try process.line(containing: "writes fail").contains(directory.path))
    }
}
