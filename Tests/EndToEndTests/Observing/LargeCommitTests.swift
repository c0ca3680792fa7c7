import SettingsEngine
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Commits too large to be told, or kept, like others.
@Suite(.ownThread)
struct LargeCommitTests {
    private static let size = 6_000

    private func large(_ value: Int) -> Request {
        let members = (0..<Self.size).map { #""key\#(10_000 + $0)":\#(value)"# }.joined(separator: ",")
        return Request("PATCH app {\(members)}")
    }

    @Test("A commit of thousands of keys reaches every stream whole and once, and what happens meanwhile behind it")
    func live() throws {
        let daemon = try TestDaemon()
        try daemon.done("PUT app/keys/n 0")
        let streams = try (0..<20).map { _ in try daemon.stream("GET app/observe") }
        for stream in streams { #expect(try stream.event()?.type == "state") }
        var cursors: [String] = []
        for round in 1...3 {
            cursors.append(try daemon.done(large(round)).cursorText)
            for _ in 0..<3 { cursors.append(try daemon.done(Request("PUT app/keys/n \(cursors.count)")).cursorText) }
        }
        let late = try daemon.stream("GET app/observe", since: streams[0].lastEventID)
        for stream in streams + [late] {
            for (position, cursor) in cursors.enumerated() {
                let commit = try stream.commit()
                #expect(commit.id == cursor)
                #expect(commit.changes.count == (position % 4 == 0 ? Self.size : 1))
            }
        }
        let last = try daemon.done("PUT app/keys/n -1").cursorText
        for stream in streams + [late] { #expect(try stream.commit().id == last) }
    }

    @Test("A stream hears that its suite is dropped, though history cannot hold so large a commit")
    func drop() throws {
        let daemon = try TestDaemon { $0.history.bytes = 4096 }
        try daemon.done(large(1))
        let stream = try daemon.stream("GET app/observe")
        #expect(try stream.event()?.type == "state")
        let cursor = try daemon.done("DELETE app?drop=true").cursorText
        try stream.expect("commit", cursor, #"{"dropped":true,"changes":[]}"#)
        let again = try daemon.done("PUT app/keys/n 1").cursorText
        try stream.expect("commit", again, #"{"changes":[{"key":"n","new":1}]}"#)
    }
}
