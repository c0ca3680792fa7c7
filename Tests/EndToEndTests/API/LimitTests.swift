import HTTPServer
import HTTPWire
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// "Errors" in docs/http-api.md: the answers of a daemon with low limits. In a row, `"*"` stands for any value. A
/// target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct LimitTests {
    /// Makes the queue of writes so small that it has no room for a write.
    static func allowNoWrites(_ configuration: inout Configuration) {
        configuration.writes.waitingBytes = 16
    }

    static func limitRequests(_ configuration: inout Configuration) {
        configuration.transport.request = MessageLimits(
            maximumTargetLength: 64, maximumHeadLength: 256, maximumFieldCount: 4, maximumBodyLength: 8)
    }

    static let notDone = #"{"outcome":"not_done","retryAfterMs":"*"}"#

    static let rows: [Row] = [
        Row(
            "A write of a value while the queue has no room", "PUT app/keys/a 1", 503, .overloaded, body: notDone,
            fields: ["Retry-After: 1"], configure: allowNoWrites),
        Row(
            "A write of a map while the queue has no room", #"PATCH app {"a":1}"#, 503, .overloaded, body: notDone,
            configure: allowNoWrites),
        Row(
            "A write of a schema while the queue has no room", Samples.schema, 503, .overloaded, body: notDone,
            configure: allowNoWrites),
        Row(
            "A transaction while the queue has no room", #"POST /v1/transaction {"do":[]}"#, 503, .overloaded,
            body: notDone,
            configure: allowNoWrites),
        Row("A read while the queue has no room", "GET /v1/suites", 200, configure: allowNoWrites),
        Row(
            "A body over its limit", "PUT app/keys/a 123456789", 413, .tooLarge, body: #"{"limit":8}"#,
            configure: limitRequests),
        Row("A body at its limit", "PUT app/keys/a 12345678", 201, configure: limitRequests),
        Row(
            "A body in chunks over its limit",
            Request("PUT app/keys/a 9\r\n123456789\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 413, .tooLarge,
            body: #"{"limit":8}"#, configure: limitRequests),
        Row(
            "A body in chunks at its limit",
            Request("PUT app/keys/a 4\r\n1234\r\n4\r\n5678\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 201,
            body: #"{"value":12345678}"#, configure: limitRequests),
        Row(
            "A target over its limit", Request("GET /v1?\(String(repeating: "a", count: 64))"), 414, .tooLarge,
            body: #"{"limit":64}"#, configure: limitRequests),
        Row(
            "A head over its limit", Request("GET /v1", "A: \(String(repeating: "a", count: 256))"), 431, .tooLarge,
            body: #"{"limit":256}"#, configure: limitRequests),
        // With Host, the request has five fields.
        Row(
            "Too many fields", Request("GET /v1", "A: 1", "B: 1", "C: 1", "D: 1"), 431, .tooLarge,
            body: #"{"limit":4}"#,
            configure: limitRequests),
    ]

    @Test("A request over a limit is refused with the limit, and a request at its limit is accepted", arguments: rows)
    func limits(row: Row) throws {
        try row.check()
    }

    @Test(
        "A request that does not arrive in time returns 408",
        arguments: [
            "PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: loc",
            "PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1",
        ])
    func timeout(start: String) throws {
        let daemon = try TestDaemon {
            // The head and the body must each arrive within 20 ms.
            $0.transport.headTime = TransportLimits.second / 50
            $0.transport.bodyTime = TransportLimits.second / 50
        }
        let peer = try daemon.connect()
        try peer.send(Array(start.utf8))
        let answer = try peer.readResponse()
        #expect(answer.status == 408)
        #expect(answer.json?["code"] == "timeout")
    }

    @Test("A connection over the limit returns 429 with Retry-After")
    func connections() throws {
        let daemon = try TestDaemon { $0.transport.connections = 1 }
        let first = try daemon.connect()
        #expect(try first.ask("GET /healthz").status == 200)
        let second = try daemon.connect()
        let answer = try second.readResponse()
        #expect(answer.status == 429)
        #expect(answer.json?["code"] == "too_many_connections")
        #expect(answer.field("Retry-After") == "1")
        #expect(answer.revision != nil)
        #expect(try first.ask("GET /healthz").status == 200)
    }
}

/// Answers about a large suite, their order among other answers, and cached answers.
@Suite(.ownThread)
struct LargeSuiteTests {
    static let count = 6_000

    /// Stores `count` keys, whose names have equal lengths, so that their order is the order of their numbers.
    private static func fill(_ daemon: TestDaemon) throws {
        let members = (0..<count).map { #""key\#(100_000 + $0)":\#($0)"# }.joined(separator: ",")
        try daemon.sendOK(Request("PUT app {\(members)}"))
    }

    @Test(
        "A large answer keeps its place among pipelined answers and shows the state at the time of its request")
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

    @Test("The pages of a listing together contain each key once", arguments: [1, 999, 1_000, 6_000, 7_000])
    func pages(size: Int) throws {
        let daemon = try TestDaemon()
        try Self.fill(daemon)
        let peer = try daemon.connect()
        var names: [String] = []
        var after = ""
        // Reading 6,000 pages of one key is too slow, so the test reads at most 50 pages.
        while names.count < min(Self.count, size * 50) {
            let page = try #require(try peer.ask(Request("GET app/keys?limit=\(size)\(after)")).json)
            names += (page["keys"]?.array ?? []).compactMap { $0["key"]?.string }
            guard let next = page["next"]?.string else { break }
            #expect(next == names.last)
            after = "&after=\(next)"
        }
        #expect(names == (0..<min(Self.count, size * 50)).map { "key\(100_000 + $0)" })
    }

    @Test("A cached answer is not used after a newer commit of any suite")
    func rendered() throws {
        let daemon = try TestDaemon()
        let peer = try daemon.connect()
        for round in 0..<20 {
            for request in [Request("PUT app/keys/a \(round)"), Request("PUT other/keys/a \(round)")] {
                let written = try peer.ask(request)
                // The second answer may come from the cache.
                for _ in 0..<2 {
                    let read = try peer.ask("GET app")
                    #expect(read.json?["values"]?["a"] == .integer(Int64(round)))
                    #expect(read.field("Settings-Cursor") == written.field("Settings-Cursor"))
                    #expect(read.json?["cursor"]?.string == written.field("Settings-Cursor"))
                    #expect(read.json?["revision"]?.integer.map { "\"\($0)\"" } == read.field("ETag"))
                }
            }
        }
    }
}
