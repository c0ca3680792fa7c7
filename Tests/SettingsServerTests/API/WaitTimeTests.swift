import Dispatch
import HTTPServer
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// The time limits of waits and the keep-alive messages of streams, with a clock that the test moves. The epoch of an
/// `APIServer` is `e0`.
@Suite(.ownThread)
struct WaitTimeTests {
    private let time = ManualClock()
    /// The maximum time in nanoseconds from a deadline until the event loop handles the deadline.
    private static let maximumDelay: UInt64 = 50_000_000

    private func observe(_ query: String, _ fields: String = "") -> String {
        "GET /v1/suites/app/observe\(query) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
    }

    /// A server with the setting `a` in the suite `app`.
    private func serverWithSetting() throws -> APIServer {
        let server = try APIServer(clock: time.clock)
        let writer = try server.connect()
        #expect(try writer.exchange(LargeBodyTests.put("app/keys/a", "1")).status == 201)
        return server
    }

    /// Moves the clock to a time after the start of the test, and waits until the event loop has handled the new time.
    /// `now` is the time after the start of the test before the call, and is set to the new time.
    private func advance(_ server: APIServer, to nanoseconds: UInt64, from now: inout UInt64) {
        server.awaitPublication()
        time.advance(nanoseconds: nanoseconds - now)
        now = nanoseconds
        server.checkDeadlines()
        server.awaitPublication()
    }

    @Test(
        "A wait of ten seconds or more ends at a random time in its last tenth, and a shorter wait at its end",
        arguments: [
            (1, 1), (5, 5), (9, 9), (10, 9), (20, 18), (300, 270),
        ])
    func spread(seconds: UInt64, earliest: UInt64) throws {
        let server = try serverWithSetting()
        let clients = try (0..<40).map { _ in
            let client = try server.connect()
            try client.send(observe("?since=1&wait=\(seconds)"))
            return client
        }
        try server.awaitWatchers(clients.count)
        var now: UInt64 = 0
        advance(server, to: earliest * TransportLimits.second - 1, from: &now)
        #expect(server.watcherCount == clients.count)
        if earliest < seconds {
            let half = (earliest + seconds) * TransportLimits.second / 2
            advance(server, to: half, from: &now)
            // The probability that all forty clients draw the same half of the interval is 2^-39.
            #expect((1..<clients.count).contains(server.watcherCount))
        }
        advance(server, to: seconds * TransportLimits.second + Self.maximumDelay, from: &now)
        #expect(server.watcherCount == 0)
        for client in clients {
            let answer = try client.readResponse()
            #expect(answer.status == 200)
            #expect(answer.text.contains(#""changes":[]"#))
        }
    }

    @Test("A long poll without `wait` waits for 27 to 30 seconds")
    func defaultWait() throws {
        let server = try serverWithSetting()
        let client = try server.connect()
        try client.send(observe("?since=1"))
        try server.awaitWatchers(1)
        var now: UInt64 = 0
        advance(server, to: 27 * TransportLimits.second - 1, from: &now)
        #expect(server.watcherCount == 1)
        advance(server, to: 30 * TransportLimits.second + Self.maximumDelay, from: &now)
        #expect(try client.readResponse().status == 200)
    }

    @Test("A keep-alive advances the cursor of a stream of a missing suite")
    func missing() throws {
        let server = try serverWithSetting()
        let request = observe("", "Accept: text/event-stream\r\n").replacing("/app/", with: "/zz/")
        let stream = try EventStreamReader(server.connect(), Array(request.utf8))
        #expect(try stream.event()?.type == "missing")
        let length = stream.received.count
        // This commit has the revision 2.
        #expect(try server.connect().exchange(LargeBodyTests.put("app/keys/b", "1")).status < 300)
        var now: UInt64 = 0
        // The keep-alive is due 15 seconds after the last event.
        advance(server, to: 14_900_000_000, from: &now)
        advance(server, to: 15_100_000_000, from: &now)
        try stream.read { $0.lastEventID == "e0.2" }
        #expect(String(decoding: stream.received[length...], as: UTF8.self) == "id: e0.2\n\n")
    }

    @Test("A stream without events gets its new cursor every 15 seconds")
    func keepAlive() throws {
        let server = try serverWithSetting()
        let client = try server.connect()
        let stream = try EventStreamReader(client, Array(observe("?key=a", "Accept: text/event-stream\r\n").utf8))
        #expect(try stream.event()?.type == "state")
        #expect(stream.lastEventID == "e0.1")
        let writer = try server.connect()
        var now: UInt64 = 0
        for round in 1...4 {
            // The commits do not concern the stream.
            #expect(try writer.exchange(LargeBodyTests.put("app/keys/b", "\(round)")).status < 300)
            let length = stream.received.count
            advance(server, to: now + 14_900_000_000, from: &now)
            #expect(!client.isReadable)
            advance(server, to: now + 200_000_000, from: &now)
            try stream.read { $0.lastEventID == "e0.\(1 + round)" }
            #expect(String(decoding: stream.received[length...], as: UTF8.self) == "id: e0.\(1 + round)\n\n")
        }
        #expect(try writer.exchange(LargeBodyTests.put("app/keys/a", "9")).status < 300)
        let event = try stream.event()
        #expect(event?.type == "commit")
        #expect(event?.lastEventID == "e0.6")
    }

    @Test("An event postpones the next keep-alive")
    func silence() throws {
        let server = try serverWithSetting()
        let client = try server.connect()
        let stream = try EventStreamReader(client, Array(observe("", "Accept: text/event-stream\r\n").utf8))
        #expect(try stream.event()?.type == "state")
        let writer = try server.connect()
        var now: UInt64 = 0
        for round in 1...5 {
            // 14 seconds after the last event, no keep-alive is due: the keep-alive interval is 15 seconds.
            advance(server, to: UInt64(round) * 14_000_000_000, from: &now)
            #expect(!client.isReadable)
            #expect(try writer.exchange(LargeBodyTests.put("app/keys/a", "\(round + 1)")).status == 200)
            #expect(try stream.event()?.type == "commit")
        }
    }

    @Test("If an event is ready when a keep-alive is due, the stream sends only the event")
    func eventInstead() throws {
        let server = try serverWithSetting()
        let stream = try EventStreamReader(
            server.connect(), Array(observe("?key=a", "Accept: text/event-stream\r\n").utf8))
        #expect(try stream.event()?.type == "state")
        let length = stream.received.count
        let key = try KeyName("a")
        let write = WriteRequest(.setting(Transaction.Operation(suite: try SuiteName("app"), key: key, .set(2))))
        // Receives the result of the write.
        let replies = CollectedResults()
        server.whileLoopIsBlocked {
            // The loop handles the commit and the end of the keep-alive interval in the same iteration.
            #expect(server.store.enqueue(WriteID(low: 1), write, for: replies) == nil)
            #expect(replies.awaitFurther(1).count == 1)
            time.advance(nanoseconds: 15_100_000_000)
        }
        #expect(try stream.event()?.lastEventID == "e0.2")
        server.awaitPublication()
        #expect(try server.connect().exchange(LargeBodyTests.put("app/keys/a", "3")).status == 200)
        #expect(try stream.event()?.lastEventID == "e0.3")
        // A cursor without changes is an `id` line alone, after the empty line that ends an event.
        #expect(!String(decoding: stream.received[length...], as: UTF8.self).contains("\n\nid: "))
    }

    // At the end of the wait, a read has its usual status: `a` and the suite match `*`, and `zz` is missing. A long
    // poll has an empty list of changes.
    @Test(
        "A GET with `wait` that sees no change is answered in the last tenth of the wait",
        arguments: [
            ("/keys/a?wait=20", "If-None-Match: *\r\n", 304), ("/keys/zz?wait=20", "", 404),
            ("?wait=20", "If-None-Match: *\r\n", 304), ("/observe?since=1&wait=20&key=zz", "", 200),
        ])
    func reading(path: String, fields: String, status: Int) throws {
        let server = try serverWithSetting()
        let client = try server.connect()
        try client.send("GET /v1/suites/app\(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
        try server.awaitWatchers(1)
        var now: UInt64 = 0
        advance(server, to: 18 * TransportLimits.second - 1, from: &now)
        #expect(server.watcherCount == 1)
        advance(server, to: 20 * TransportLimits.second + Self.maximumDelay, from: &now)
        #expect(try client.readResponse().status == status)
    }
}
