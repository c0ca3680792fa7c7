import ClientTestSupport
import HTTPWire
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Requests that go out some time after they are started.
@Suite(.ownThread)
struct LaterRequestTests {
    private let server: ScriptedServer
    private let pool: ConnectionPool
    private let log = EventLog()

    init() throws {
        server = try ScriptedServer { _, peer, _ in
            while peer.readRequest() != nil { peer.send(ScriptedServer.service) }
        }
        pool = ConnectionPool(server.address)
    }

    private func poll(after pause: Duration, for time: Duration = .seconds(60)) -> LongPoll {
        let start = ContinuousClock.now + pause
        return LongPoll(Request(.get, RequestTarget("v1")), pool, from: start, by: start + time)
    }

    private func start(_ poll: LongPoll) {
        let log = log
        poll.start { result in
            switch result {
            case .success: log.add("answer")
            case .failure(.cancelled(let outcome)): log.add("cancelled, \(outcome)")
            case .failure(let error): log.add("\(error)")
            }
        }
    }

    @Test("They go out when it is time, and not before") func theyGoOutWhen() {
        let begin = ContinuousClock.now
        start(poll(after: .milliseconds(50)))
        #expect(log.wait(for: "answer"))
        #expect(.now - begin >= .milliseconds(50))
    }

    @Test("They go out at once when they are hurried, before they are started too") func theyGoOutOnce() {
        let first = poll(after: .seconds(1000))
        first.hurry()
        start(first)
        #expect(log.wait(for: "answer"))
        let second = poll(after: .seconds(1000))
        start(second)
        second.hurry()
        second.hurry()
        #expect(log.wait(for: "answer", times: 2))
        second.hurry()
        second.cancel()
        #expect(log.all == ["answer", "answer"])
    }

    @Test("One that is cancelled before it is time never goes out") func oneCancelledBeforeTime() {
        let early = poll(after: .seconds(1000))
        start(early)
        early.cancel()
        early.hurry()
        #expect(log.wait(for: "cancelled, notDone"))
        let fresh = poll(after: .seconds(1000))
        fresh.cancel()
        fresh.hurry()
        start(fresh)
        #expect(log.wait(for: "cancelled, notDone", times: 2))
        #expect(server.log.count("connection") == 0)
    }
}
