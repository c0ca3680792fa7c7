import HTTPWire
import SettingsServer
import TestSupport
import Testing

struct AlarmTests {
    private static let millisecond: UInt64 = 1_000_000

    private func begin(_ path: String = "/later-alarm") throws -> (TestServer, ManualClock, RawClient) {
        let time = ManualClock()
        let server = try TestServer(clock: time.clock)
        let client = try server.connect()
        try client.send(get(path))
        #expect(server.script.log.wait(for: "handled \(path)"))
        server.settle()
        return (server, time, client)
    }

    private func pass(_ milliseconds: UInt64, _ server: TestServer, _ time: ManualClock) {
        time.advance(nanoseconds: milliseconds * Self.millisecond)
        server.checkDeadlines()
        server.settle()
    }

    @Test func `An alarm comes once, not before its time and at most 20 milliseconds after it`() throws {
        let (server, time, client) = try begin()
        pass(999, server, time)
        #expect(server.script.log.count("alarm") == 0)
        pass(21, server, time)
        #expect(server.script.log.count("alarm") == 1)
        pass(60_000, server, time)
        #expect(server.script.log.count("alarm") == 1)
        server.script.answer("/later-alarm")
        #expect(try client.readResponse().text == "/later-alarm")
    }

    @Test func `An alarm of an answer that was given does not come, nor one whose peer is gone`() throws {
        let (server, time, client) = try begin()
        server.script.answer("/later-alarm")
        #expect(try client.readResponse().status == 200)
        try client.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        pass(2000, server, time)
        #expect(server.script.log.count("alarm") == 0)
        try client.send(get("/later-alarm"))
        #expect(server.script.log.wait(for: "handled /later-alarm", times: 2))
        client.reset()
        #expect(server.script.log.wait(for: "closed"))
        pass(2000, server, time)
        #expect(server.script.log.count("alarm") == 0)
    }

    @Test func `A later alarm takes the place of the one before, be it sooner or later`() throws {
        let (server, time, client) = try begin()
        let exchange = try #require(server.script.take("/later-alarm"))
        for (moved, early, late) in [(30_000, 29_999, 21), (100, 99, 21)] as [(UInt64, UInt64, UInt64)] {
            let alarms = server.script.log.count("alarm")
            exchange.loop.run {
                exchange.loop.setAlarm(exchange.ticket, at: exchange.loop.now + moved * Self.millisecond)
            }
            server.settle()
            pass(early, server, time)
            #expect(server.script.log.count("alarm") == alarms)
            pass(late, server, time)
            #expect(server.script.log.count("alarm") == alarms + 1)
        }
        client.close()
    }

    @Test func `A real clock brings it within 50 milliseconds`() throws {
        let server = try TestServer()
        let client = try server.connect()
        let begun = ContinuousClock.now
        try client.send(get("/later-alarm"))
        #expect(server.script.log.wait(for: "alarm"))
        let passed = ContinuousClock.now - begun
        #expect(passed >= .seconds(1))
        client.close()
    }

    @Test func `A handler hears of the stop in time to answer those who wait`() throws {
        let (server, _, client) = try begin("/later-until-stop")
        let idle = try server.connect()
        #expect(try idle.exchange(get("/a")).status == 200)
        server.stop(within: 20)
        let answer = try client.readResponse()
        #expect(answer.text == "/later-until-stop")
        #expect(answer.field("Connection") == "close")
        #expect(try idle.readUntilClose() == [])
        client.close()
        idle.close()
        #expect(server.script.log.wait(for: "stopped"))
        #expect(server.script.log.count("stopping") == 1)
    }

    @Test func `A handler hears when all of a stream is with the kernel`() throws {
        let server = try TestServer()
        let client = try server.connect(receiveBuffer: 4096)
        try client.send(get("/later"))
        #expect(server.script.log.wait(for: "handled /later"))
        let exchange = try #require(server.script.take("/later"))
        let length = 20 << 20
        exchange.loop.run {
            exchange.loop.begin(exchange.ticket, Response(status: 200, contentType: .eventStream))
            // However long it is, what a stream begins with cuts nobody off.
            exchange.loop.push(exchange.ticket, [UInt8](repeating: 0x2E, count: length).span)
            exchange.loop.push(exchange.ticket, Array("behind it".utf8).span)
            exchange.loop.whenDrained(exchange.ticket)
        }
        server.settle()
        #expect(server.script.log.count("drained") == 0)
        #expect(try client.readHead().status == 200)
        var read = 0
        while read < length, let chunk = try client.readChunk() { read += chunk.utf8.count }
        #expect(try client.readChunk() == "behind it")
        #expect(server.script.log.wait(for: "drained"))
        #expect(server.script.log.count("closed") == 0)
    }

    @Test func `Addresses are one whatever their ports, and IPv4 is the same within IPv6`() throws {
        let server = try TestServer()
        var peers: [PeerAddress] = []
        for number in 0..<2 {
            let client = try server.connect()
            try client.send(get("/later\(number)"))
            #expect(server.script.log.wait(for: "handled /later\(number)"))
            peers.append(try #require(server.script.take("/later\(number)")).peer)
        }
        #expect(peers[0] != peers[1])
        #expect(peers[0].withoutPort == peers[1].withoutPort)
        #expect(peers[0].withoutPort.host == "127.0.0.1")
    }
}
