import SettingsServer
import Synchronization
import TestSupport
import Testing

@Suite(.ownThread)
struct AlarmTests {
    private static let millisecond: UInt64 = 1_000_000

    /// Connects, sends the requests, and returns the one with the path `/later`.
    private func begin(_ server: TestServer, _ requests: String = get("/later")) throws -> (RawClient, Exchange) {
        let client = try server.connect()
        try client.send(requests)
        #expect(server.script.log.wait(for: "handled /later"))
        return (client, try #require(server.script.take("/later")))
    }

    private func set(_ server: TestServer, _ exchange: Exchange, in milliseconds: UInt64) throws {
        try server.onLoop(exchange) { $0.setAlarm($1, at: $0.now + milliseconds * Self.millisecond) }
    }

    /// How many alarms there were once so much more time has passed.
    private func alarms(_ server: TestServer, _ time: ManualClock, after milliseconds: UInt64) -> Int {
        time.advance(nanoseconds: milliseconds * Self.millisecond)
        server.checkDeadlines()
        server.settle()
        return server.script.log.count("alarm")
    }

    @Test(
        "An alarm comes soon after its time, never before, and once",
        arguments: [1, 5, 14, 249, 30_000, 600_000] as [UInt64])
    func alarmComesSoonAfter(milliseconds: UInt64) throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let (client, exchange) = try begin(server)
        try set(server, exchange, in: milliseconds)
        time.advance(nanoseconds: milliseconds * Self.millisecond - 1)
        #expect(alarms(server, time, after: 0) == 0)
        #expect(alarms(server, time, after: 16) == 1)
        #expect(alarms(server, time, after: 1_000_000) == 1)
        client.close()
    }

    @Test("An alarm wakes the loop by itself") func alarmWakesLoopItself() throws {
        let server = try TestServer()
        let (client, exchange) = try begin(server)
        let late = Mutex<Int64?>(nil)
        let deadline = try server.onLoop(exchange) { loop, ticket in
            let deadline = loop.now + 50 * Self.millisecond
            loop.setAlarm(ticket, at: deadline)
            return deadline
        }
        server.script.hooks.withLock { hooks in
            hooks.alarm = { loop, ticket in
                late.withLock { $0 = Int64(bitPattern: loop.now &- deadline) }
                loop.respond(ticket, Script.response("in time"))
            }
        }
        #expect(try client.readResponse().text == "in time")
        let nanoseconds = try #require(late.withLock { $0 })
        #expect(nanoseconds >= 0)
    }

    @Test("A later call moves the alarm, or takes it away") func laterCallMovesAlarm() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let (client, exchange) = try begin(server)
        try set(server, exchange, in: 1000)
        try set(server, exchange, in: 5000)
        #expect(alarms(server, time, after: 4999) == 0)
        try set(server, exchange, in: 100)
        #expect(alarms(server, time, after: 115) == 1)
        #expect(alarms(server, time, after: 10_000) == 1)
        try set(server, exchange, in: 1000)
        try server.onLoop(exchange) { $0.setAlarm($1, at: .max) }
        #expect(alarms(server, time, after: 10_000) == 1)
        client.close()
    }

    @Test("There is no alarm once the answer is given or the connection gone") func thereNoAlarmOnce() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let (client, exchange) = try begin(server, get("/later0") + get("/later"))
        try set(server, exchange, in: 1000)
        // Given, though it is not sent before the one before it.
        try server.onLoop(exchange) { $0.respond($1, Script.response("given")) }
        #expect(alarms(server, time, after: 2000) == 0)
        try set(server, exchange, in: 1000)
        let first = try #require(server.script.take("/later0"))
        try set(server, first, in: 1000)
        client.reset()
        #expect(server.script.log.wait(for: "closed"))
        #expect(alarms(server, time, after: 2000) == 0)
    }

    @Test("Each owed answer of a connection has its own") func eachOwedAnswerConnection() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let requests = (0..<4).map { get("/later\($0)") }.joined()
        let (client, last) = try begin(server, requests + get("/later"))
        server.script.hooks.withLock { hooks in
            hooks.alarm = { loop, ticket in
                loop.respond(ticket, Script.response("\(loop.now / TransportLimits.second)"))
            }
        }
        for number in 0..<4 {
            try set(server, try #require(server.script.take("/later\(number)")), in: UInt64(4 - number) * 1000)
        }
        try set(server, last, in: 4000)
        for count in 1...3 { #expect(alarms(server, time, after: 1015) == count) }
        #expect(alarms(server, time, after: 1015) == 5)
        #expect(try (0..<5).map { _ in try client.readResponse().text } == ["1004", "1003", "1002", "1001", "1004"])
    }

    @Test("A stream keeps its alarm until it ends") func streamKeepsAlarmUntil() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let (client, exchange) = try begin(server)
        server.script.hooks.withLock { hooks in
            hooks.alarm = { loop, ticket in
                loop.push(ticket, Array("beat".utf8).span)
                loop.setAlarm(ticket, at: loop.now + TransportLimits.second)
            }
        }
        try set(server, exchange, in: 1000)
        try server.onLoop(exchange) { _ = $0.begin($1, Script.response("begin")) }
        _ = try client.readHead()
        #expect(try client.readChunk() == "begin")
        for count in 1...5 {
            #expect(alarms(server, time, after: 1015) == count)
            #expect(try client.readChunk() == "beat")
        }
        try server.onLoop(exchange) { _ = $0.push($1, Span(), isLast: true) }
        #expect(try client.readChunk() == nil)
        #expect(alarms(server, time, after: 10_000) == 5)
        #expect(try client.exchange(get("/a")).text == "GET /a ")
    }

    @Test("An alarm is set while the request is handled") func alarmSetWhileRequest() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try server.connect()
        try client.send(get("/laterAlarm") + get("/laterAlarm") + get("/a"))
        #expect(server.script.log.wait(for: "handled /a"))
        #expect(alarms(server, time, after: 999) == 0)
        #expect(alarms(server, time, after: 16) == 2)
        for _ in 0..<2 { server.script.answer("/laterAlarm") }
        for text in ["/laterAlarm", "/laterAlarm", "GET /a "] { #expect(try client.readResponse().text == text) }
    }

    @Test("Within a batch the time stands still") func withinBatchTimeStands() throws {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let (client, exchange) = try begin(server)
        let (before, after) = try server.onLoop(exchange) { loop, _ in
            let before = loop.now
            time.advance(seconds: 1)
            return (before, loop.now)
        }
        #expect(before == after)
        #expect(try server.onLoop(exchange) { loop, _ in loop.now } == before + TransportLimits.second)
        client.close()
    }
}
