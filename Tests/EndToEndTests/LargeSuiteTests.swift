import SettingsModel
import TestSupport
import Testing

/// Answers that take long to make do not come before others, nor others before them.
@Suite(.ownThread)
struct LargeSuiteTests {
    static let count = 6_000

    private static func fill(_ daemon: TestDaemon) throws {
        let members = (0..<count).map { #""key\#(100_000 + $0)":\#($0)"# }.joined(separator: ",")
        try daemon.done(Request("PUT app {\(members)}"))
    }

    @Test(
        "A large answer keeps its place among those of its connection, and shows what was there when it was asked for")
    func order() throws {
        let daemon = try TestDaemon()
        try Self.fill(daemon)
        let peer = try daemon.connect()
        for round in 0..<5 {
            let requests: [Request] = [
                "GET app?raw", Request("PUT app/keys/round \(round)"), "GET app/keys/round?raw", "GET app/keys",
                "DELETE app/keys/round",
                "GET app", "GET app/keys/round",
            ]
            try peer.send(requests.flatMap(\.bytes))
            #expect(try peer.readResponse().json?.object?.count == Self.count)
            #expect(try peer.readResponse().status == 201)
            #expect(try peer.readResponse().text == String(round))
            let keys = try peer.readResponse()
            #expect(keys.json?["keys"]?.array?.count == Self.count + 1)
            #expect(try peer.readResponse().json?["changed"] == true)
            let suite = try peer.readResponse()
            #expect(suite.json?["values"]?.object?.count == Self.count)
            #expect(suite.json?["cursor"]?.string == suite.field("Settings-Cursor"))
            #expect(try peer.readResponse().status == 404)
        }
    }

    @Test("The pages of a listing, put together, are the whole of it", arguments: [1, 999, 1_000, 6_000, 7_000])
    func pages(size: Int) throws {
        let daemon = try TestDaemon()
        try Self.fill(daemon)
        let peer = try daemon.connect()
        var names: [String] = []
        var after = ""
        // A page of one takes as many requests as there are keys: not all of those.
        while names.count < min(Self.count, size * 50) {
            try peer.send(Request("GET app/keys?limit=\(size)\(after)").bytes)
            let page = try #require(try peer.readResponse().json)
            names += (page["keys"]?.array ?? []).compactMap { $0["key"]?.string }
            guard let next = page["next"]?.string else { break }
            #expect(next == names.last)
            after = "&after=\(next)"
        }
        #expect(names == (0..<min(Self.count, size * 50)).map { "key\(100_000 + $0)" })
    }

    @Test("What an earlier answer showed is shown again only as long as it is true")
    func rendered() throws {
        let daemon = try TestDaemon()
        let peer = try daemon.connect()
        for round in 0..<20 {
            for request in [Request("PUT app/keys/a \(round)"), Request("PUT other/keys/a \(round)")] {
                try peer.send(request.bytes)
                let written = try peer.readResponse()
                for _ in 0..<2 {
                    try peer.send(Request("GET app").bytes)
                    let read = try peer.readResponse()
                    #expect(read.json?["values"]?["a"] == .integer(Int64(round)))
                    #expect(read.field("Settings-Cursor") == written.field("Settings-Cursor"))
                    #expect(read.json?["cursor"]?.string == written.field("Settings-Cursor"))
                    #expect(read.json?["revision"]?.integer.map { "\"\($0)\"" } == read.field("ETag"))
                }
            }
        }
    }
}
