import Foundation
import SettingsModel
import TestSupport
import Testing

/// Times of commits when the clock is not what it was.
@Suite(.ownThread)
struct ClockTests {
    /// A directory whose last commit was made so many seconds from now.
    private func directory(lastCommitIn seconds: TimeInterval) throws -> TemporaryDirectory {
        var data = try StoredData(version: "0.3")
        let name = data.newestJournal
        let journal = try #require(data.files[name])
        let line = journal.lastLine
        var text = String(decoding: journal[line], as: UTF8.self)
        let time = Date(timeIntervalSinceNow: seconds).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        text.replace(/"time":"[^"]*"/, with: "\"time\":\"\(time)\"")
        data.files[name]?.replaceSubrange(line, with: StoredData.journalLine(text.dropFirst(18)))
        return try data.write()
    }

    private func modified(_ answer: RawResponse) throws -> Date {
        let text = try #require(answer.json?["modified"]?.string)
        return try Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    @Test("A clock that was years ahead does not keep later commits there")
    func ahead() throws {
        let daemon = try TestDaemon(in: directory(lastCommitIn: 300_000_000))
        #expect(try modified(daemon.send("GET editor/keys/fontSize")) > Date(timeIntervalSinceNow: 200_000_000))
        for value in 1...2 {
            let time = try modified(daemon.done(Request("PUT editor/keys/fontSize \(value)")))
            #expect(abs(time.timeIntervalSinceNow) < 60)
        }
        #expect(try modified(daemon.send("GET editor/keys/fontSize")) < Date(timeIntervalSinceNow: 60))
        daemon.stop()
        let again = try TestDaemon(in: daemon.directory)
        #expect(try modified(again.done("PUT editor/keys/fontSize 3")) < Date(timeIntervalSinceNow: 60))
    }

    @Test("A clock that is set back a little takes no time back")
    func setBack() throws {
        let daemon = try TestDaemon(in: directory(lastCommitIn: 40))
        let last = try modified(daemon.send("GET editor/keys/fontSize"))
        #expect(try modified(daemon.done("PUT editor/keys/other 1")) >= last)
    }
}
