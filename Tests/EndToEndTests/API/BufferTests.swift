import Dispatch
import SettingsModel
import SettingsServer
import Synchronization
import TestSupport
import Testing

/// The limit on memory for requests and answers in transit. `indicesOfReadable` waits until the daemon has answered
/// some of the clients, and returns their indices. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct BufferTests {
    /// Limits the memory for requests and answers in transit to 2 MiB, in a daemon with one event loop.
    private static func useSmallBuffer(_ configuration: inout Configuration) {
        configuration.bufferBytes = 2 << 20
        configuration.loops = 1
    }

    /// The memory in use, according to the metrics of the daemon.
    private static func bufferedBytes(_ daemon: TestDaemon) throws -> Int {
        let metrics = try daemon.send("GET /metrics").text
        let line = metrics.split(separator: "\n").first { $0.hasPrefix("settingsd_buffer_bytes ") }
        return try #require(line.flatMap { Int($0.split(separator: " ")[1]) })
    }

    /// An upper bound of the memory in use when no request is in transit.
    private static let idleBytes = 40_000

    private static func awaitBufferedBytes(_ daemon: TestDaemon, _ isReached: (Int) -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(Deadline.patience)
        while try !isReached(bufferedBytes(daemon)) { try #require(ContinuousClock.now < deadline) }
    }

    @Test(
        "Watchers whose filters exceed half the buffer memory get 503; a watcher with a small filter is accepted")
    func filters() throws {
        let daemon = try TestDaemon(Self.useSmallBuffer)
        try daemon.sendOK("PUT app/keys/a 1")
        func observe(_ keys: [String]) throws -> RawClient {
            let peer = try daemon.connect()
            let query = keys.map { "&key=\($0)" }.joined()
            try peer.send("GET /v1/suites/app/observe?since=1&wait=300\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return peer
        }
        let many = try (0..<30).map { number in try observe((0..<200).map { "k\(number).\($0)" }) }
        let refusedIndex = try #require(RawClient.indicesOfReadable(among: many).first)
        let answer = try many[refusedIndex].readResponse()
        #expect(answer.status == 503 && answer.json?["code"] == "overloaded", "\(answer.text)")
        #expect(answer.field("Retry-After") != nil)
        let other = try observe(["a"])
        try daemon.sendOK("PUT app/keys/a 2")
        #expect(try other.readResponse().status == 200)
        many.forEach { $0.close() }
        try Self.awaitBufferedBytes(daemon) { $0 < Self.idleBytes }
    }

    @Test("While bodies wait for memory, a stalled body gets 503, and small requests are served")
    func bodies() throws {
        let daemon = try TestDaemon(Self.useSmallBuffer)
        let slow = try (0..<4).map { _ in try daemon.connect() }
        for peer in slow {
            try peer.send("PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n\"")
            try peer.send([UInt8](repeating: UInt8(ascii: "a"), count: 800_000))
            try daemon.sendOK("PUT app/keys/small 1")
        }
        let refusedIndex = try #require(RawClient.indicesOfReadable(among: slow).first)
        let answer = try slow[refusedIndex].readResponse()
        #expect(answer.status == 503 && answer.json?["code"] == "overloaded", "\(answer.text)")
        #expect(answer.field("Retry-After") != nil)
        #expect(answer.field("Connection") == "close")
        try Self.awaitBufferedBytes(daemon) { $0 <= 2 << 20 }
        try daemon.sendOK("PUT app/keys/small 2")
    }

    /// Limits the memory for requests and answers in transit to 16 MiB, in a daemon with two event loops.
    private static func useMediumBuffer(_ configuration: inout Configuration) {
        configuration.bufferBytes = 16 << 20
        configuration.loops = 2
    }

    /// The head of a PUT with a body of this many bytes.
    private static func head(_ bytes: Int) -> String {
        "PUT /v1/suites/app/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(bytes)\r\n\r\n"
    }

    @Test("Concurrent long bodies wait in the kernel for memory, and all are accepted")
    func manyLongBodies() throws {
        let daemon = try TestDaemon(Self.useMediumBuffer)
        let body = Request("PUT app/keys/a \"\(String(repeating: "a", count: 2_000_000))\"")
        let refused = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { [port = daemon.port] _ in
            do {
                let peer = try RawClient(port: port)
                for _ in 0..<3 {
                    let answer = try peer.ask(body)
                    if answer.status >= 300 { refused.withLock { $0.append(answer.text) } }
                }
            } catch {
                refused.withLock { $0.append("\(error)") }
            }
        }
        #expect(refused.withLock(\.self) == [])
        try Self.awaitBufferedBytes(daemon) { $0 < Self.idleBytes }
    }

    @Test("A long body receives the memory of a stalled body", arguments: ["length", "chunked"])
    func slowLongBodies(framing: String) throws {
        let daemon = try TestDaemon(Self.useMediumBuffer)
        let slow = try (0..<3).map { _ in try daemon.connect() }
        // The head of a request reserves the memory for its body.
        for peer in slow { try peer.send(Self.head(3_000_000)) }
        try Self.awaitBufferedBytes(daemon) { $0 > 1_000_000 }
        let text = "\"" + String(repeating: "a", count: 2_000_000) + "\""
        let peer = try daemon.connect()
        if framing == "chunked" {
            try peer.send("PUT /v1/suites/app/keys/b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            try peer.send(String(text.utf8.count, radix: 16) + "\r\n\(text)\r\n0\r\n\r\n")
            let answer = try peer.readResponse()
            #expect(answer.status == 201, "\(answer.text)")
        } else {
            #expect(try peer.ask(Request("PUT app/keys/b \(text)")).status == 201)
        }
        let refusedIndex = try #require(RawClient.indicesOfReadable(among: slow).first)
        let answer = try slow[refusedIndex].readResponse()
        #expect(answer.status == 503 && answer.json?["code"] == "overloaded", "\(answer.text)")
    }

    @Test("Long bodies receive memory in order of arrival, also across event loops")
    func order() throws {
        let daemon = try TestDaemon {
            $0.bufferBytes = 16 << 20
            $0.loops = 4
        }
        func begin() throws -> RawClient {
            let peer = try daemon.connect()
            let head = Self.head(3_000_000).replacing("Host:", with: "Expect: 100-continue\r\nHost:")
            try peer.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + head)
            // The event loop read both requests together, so it has also seen the PUT.
            #expect(try peer.readResponse().status == 200)
            return peer
        }
        // A body of 3 MB needs all the memory that long bodies may use.
        let first = try begin()
        #expect(try first.readHead().status == 100)
        let others = try (0..<8).map { _ in try begin() }
        first.close()
        for (number, peer) in others.enumerated() {
            // The daemon asks only the first remaining client for its body.
            #expect(RawClient.indicesOfReadable(among: others[number...].map(\.self)) == [0], "peer \(number)")
            #expect(try peer.readHead().status == 100)
            peer.close()
        }
    }

    @Test("When bodies use all memory, the next body replaces the slow body, and the fast body completes")
    func slowBesideFast() throws {
        let daemon = try TestDaemon {
            // One client may use about 3.7 MB of this limit for its long bodies. The bodies `fast` and `slow` need
            // 2.6 MB, so the body `next`, with 1.2 MB, must wait.
            $0.bufferBytes = 64 << 20
            $0.loops = 1
        }
        func begin(_ key: String, _ count: Int) throws -> RawClient {
            let peer = try daemon.connect()
            try peer.send(Self.head(count).replacing("keys/a", with: "keys/\(key)"))
            return peer
        }
        func letters(_ count: Int) -> [UInt8] { [UInt8](repeating: UInt8(ascii: "a"), count: count) }
        // The fast body arrived earlier and uses more memory, so only its progress protects it from a refusal.
        let fast = try begin("fast", 1_400_000)
        try fast.send("\"")
        try fast.send(letters(900_000))
        let slow = try begin("slow", 1_200_000)
        try slow.send("\"")
        // The heads of both requests have reserved the memory for 1.4 MB and 1.2 MB.
        try Self.awaitBufferedBytes(daemon) { $0 > 2_600_000 }
        let next = try begin("next", 1_200_000)
        // Two bytes are the quotation marks.
        var left = 1_400_000 - 2 - 900_000
        while left > 10_000, !slow.isReadable(withinMilliseconds: 100) {
            try fast.send(letters(10_000))
            left -= 10_000
        }
        let refused = try slow.readResponse()
        #expect(refused.status == 503 && refused.json?["code"] == "overloaded", "\(refused.text)")
        try next.send([UInt8(ascii: "\"")] + letters(1_200_000 - 2) + [UInt8(ascii: "\"")])
        #expect(try next.readResponse().status == 201)
        try fast.send(letters(left) + [UInt8(ascii: "\"")])
        #expect(try fast.readResponse().status == 201)
    }

    @Test("A long body with a wrong Host is refused before the body arrives")
    func refusedLongBodies() throws {
        let daemon = try TestDaemon(Self.useMediumBuffer)
        let peer = try daemon.connect()
        try peer.send(Self.head(3_000_000).replacing("Host: localhost", with: "Host: example.com"))
        let answer = try peer.readResponse()
        #expect(answer.status == 421, "\(answer.text)")
        #expect(answer.field("Connection") == "close")
        try Self.awaitBufferedBytes(daemon) { $0 < Self.idleBytes }
    }

    @Test("Expect: 100-continue on a long body is answered when memory is free, and not earlier")
    func continuedLongBodies() throws {
        let daemon = try TestDaemon(Self.useMediumBuffer)
        let first = try daemon.connect()
        try first.send(Self.head(3_000_000))
        try Self.awaitBufferedBytes(daemon) { $0 > 1_000_000 }
        let second = try daemon.connect()
        try second.send(Self.head(3_000_000).replacing("Host:", with: "Expect: 100-continue\r\nHost:"))
        #expect(!second.isReadable(withinMilliseconds: 100))
        first.close()
        #expect(try second.readHead().status == 100)
    }

    @Test("A long answer to many slow clients is stored in memory once")
    func sharedAnswers() throws {
        let daemon = try TestDaemon { $0.loops = 1 }
        // The answer is larger than the send buffer that the kernel keeps for a connection.
        let text = String(repeating: "a", count: 15_000_000)
        try daemon.sendOK(Request("PUT app/keys/long \"\(text)\""))
        let readers = try (0..<8).map { _ in try daemon.connect() }
        for reader in readers { try reader.send("GET /v1/suites/app/keys/long HTTP/1.1\r\nHost: localhost\r\n\r\n") }
        for reader in readers { #expect(reader.isReadable(withinMilliseconds: 1000 * Deadline.patience)) }
        let bytes = try Self.bufferedBytes(daemon)
        // Eight copies would take 120 MB.
        #expect(bytes > 15_000_000 && bytes < 31_000_000)
        for reader in readers { #expect(try reader.readResponse().json?["value"]?.string == text) }
        try Self.awaitBufferedBytes(daemon) { $0 < 100_000 }
    }

    @Test("A long poll from an old revision returns the changes in several answers without a gap")
    func resuming() throws {
        let daemon = try TestDaemon()
        var revision = try #require(try daemon.sendOK("PUT app/keys/n 0").json?["revision"]?.integer)
        let last = 40
        for number in 1...last {
            let text = String(number) + String(repeating: "b", count: 250_000)
            try daemon.sendOK(Request("PUT app/keys/n \"\(text)\""))
        }
        var (answers, seen, hasMore) = (0, 0, true)
        while hasMore {
            let answer = try daemon.send(Request("GET app/observe?since=\(revision)&wait=0"))
            let changes = try #require(answer.json?["changes"]?.array)
            #expect(!changes.isEmpty)
            seen += changes.count
            answers += 1
            hasMore = answer.json?["more"] == true
            revision = try #require(changes.last?["revision"]?.integer)
        }
        #expect(seen == last)
        // One answer has commits of at most 8 MiB in memory, and the texts alone have 10 MB.
        #expect(answers > 1)
    }

    @Test("With little memory, the history is returned in shorter pages, without errors and without gaps")
    func historyPages() throws {
        let daemon = try TestDaemon(Self.useSmallBuffer)
        let last = 40
        for number in 1...last {
            let text = String(number) + String(repeating: "b", count: 100_000)
            try daemon.sendOK(Request("PUT app/keys/n \"\(text)\""))
        }
        // A client that does not read its answer occupies part of the memory.
        let reader = try RawClient(port: daemon.port, receiveBuffer: .smallestReceiveBuffer)
        try reader.send("GET /v1/suites/app/keys/n HTTP/1.1\r\nHost: localhost\r\n\r\n")
        var (pages, seen, path) = (0, 0, "GET app/history?key=n")
        while true {
            let page = try daemon.send(Request(path))
            #expect(page.status == 200, "\(page.text.prefix(200))")
            seen += page.json?["commits"]?.array?.count ?? 0
            pages += 1
            guard let next = page.json?["next"]?.integer else { break }
            path = "GET app/history?key=n&before=\(next)"
        }
        #expect(seen == last && pages > 5)
    }

    @Test("Events that a stream's client does not read count as buffer memory")
    func streams() throws {
        let daemon = try TestDaemon { $0.loops = 1 }
        try daemon.sendOK("PUT app/keys/n 0")
        let reader = try RawClient(port: daemon.port, receiveBuffer: .smallestReceiveBuffer)
        try reader.send("GET /v1/suites/app/observe HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        let text = String(repeating: "a", count: 15_000)
        var most = 0
        for number in 0..<400 where most < 100_000 {
            try daemon.sendOK(Request("PUT app/keys/n \"\(number)\(text)\""))
            most = max(most, try Self.bufferedBytes(daemon))
        }
        #expect(most >= 100_000)
    }

    @Test("A write or an answer that needs more than the memory for all requests returns 413 with the limit")
    func beyondAllMemory() throws {
        let daemon = try TestDaemon(Self.useSmallBuffer)
        let text = String(repeating: "a", count: 400_000)
        // An eighth of `bufferBytes` is reserved for the overhead of the allocator.
        let limit = JSONValue.integer(Int64(2 << 20) / 8 * 7)
        for number in 0..<5 { try daemon.sendOK(Request("PUT app/keys/k\(number) \"\(text)\"")) }
        let read = try daemon.send("GET app")
        #expect(read.status == 413 && read.json?["code"] == "too_large" && read.json?["limit"] == limit, "\(read.text)")
        // A write takes about four times the memory of its body: 3.2 MB, more than the limit of 1.8 MB.
        let written = try daemon.send(Request("PUT app/keys/long \"\(text)\(text)\""))
        #expect(written.status == 413 && written.json?["code"] == "too_large", "\(written.text)")
        #expect(written.json?["limit"] == limit && written.json?["outcome"] == "not_done")
        #expect(try daemon.send("GET app/keys/k1?raw").text == text)
    }

    @Test(
        "The memory estimate of a write counts arrays and objects with content, and no empty arrays or brackets in texts",
        arguments: [
            ("nested arrays", "[" + Array(repeating: nested("[", "]"), count: 500).joined(separator: ",") + "]", 413),
            (
                "nested objects",
                "[" + Array(repeating: nested("{\"a\":", "}"), count: 200).joined(separator: ",") + "]", 413
            ),
            ("empty arrays", "[" + Array(repeating: "[]", count: 30_000).joined(separator: ",") + "]", 201),
            ("a text of brackets", "\"" + String(repeating: #"[{,:\""#, count: 20_000) + "\"", 201),
        ])
    func memoryOfNestedValues(name: String, body: String, status: Int) throws {
        let daemon = try TestDaemon { $0.bufferBytes = 4 << 20 }
        #expect(try daemon.send(Request("PUT app/keys/a \(body)")).status == status)
    }

    /// A number in 126 arrays or objects. A value may have 128 levels of nesting.
    private static func nested(_ opening: String, _ closing: String) -> String {
        String(repeating: opening, count: 126) + "1" + String(repeating: closing, count: 126)
    }

    @Test("For a write that waits for memory, the daemon ends a slow transfer")
    func slowTransfer() throws {
        let daemon = try TestDaemon(Self.useMediumBuffer)
        let text = String(repeating: "a", count: 3_400_000)
        let readers = try (0..<4).map { number in
            try daemon.sendOK(Request("PUT app/keys/long\(number) \"\(text)\""))
            return try RawClient(port: daemon.port, receiveBuffer: .smallestReceiveBuffer)
        }
        for (number, reader) in readers.enumerated() {
            try reader.send("GET /v1/suites/app/keys/long\(number) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        }
        // The four answers use most of the 16 MiB.
        try Self.awaitBufferedBytes(daemon) { $0 > 13_000_000 }
        let writer = try daemon.connect()
        let answer = try writer.ask(Request("PUT app/keys/other \"\(text.prefix(400_000))\""))
        #expect(answer.status == 201, "\(answer.text)")
    }
}
