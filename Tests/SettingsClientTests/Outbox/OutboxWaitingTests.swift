import Dispatch
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// Setters and async methods that wait for the answer to a write, or return before the answer. `link` is the connection
/// of a program to the server, and `fixture.stored(KEY)` is the value on the server.
@Suite(.ownThread)
struct OutboxWaitingTests {
    private let fixture: OutboxFixture

    init() throws {
        fixture = try OutboxFixture()
    }

    @Test("A setter waits no longer than its timeout, and its write is sent after earlier writes in the outbox")
    func waiting() throws {
        let program = fixture.program(timeout: .milliseconds(50))
        let (defaults, link) = (program.defaults, program.link)
        defaults.launchCount = 1
        link.disconnect()
        for number in 2...9 { defaults.launchCount = number }
        let log = EventLog()
        let gate = DispatchSemaphore(value: 0)
        link.setFate {
            log.add("request")
            gate.wait()
            return .answered
        }
        link.reconnect()
        #expect(log.wait(for: "request"))
        DispatchQueue(label: "writing").async {
            defaults.loginTries = 5
            log.add("written")
        }
        #expect(log.wait(for: "written"))
        #expect(defaults.loginTries == 5 && fixture.stored("loginTries") == nil)
        for _ in 0..<1000 { gate.signal() }  // There are fewer requests than signals.
        // The values 1 to 9 of `launchCount`, and the value of `loginTries`.
        #expect(link.waitForAnsweredWrites(10))
        #expect(fixture.stored("launchCount") == 9 && fixture.stored("loginTries") == 5 && fixture.drainIssues() == [])
    }

    @Test("A background setter returns without an answer of the daemon, and the write is sent later")
    func background() async throws {
        let program = fixture.program(writes: .background)
        let gate = DispatchSemaphore(value: 0)
        program.link.setFate {
            gate.wait()
            return .answered
        }
        for number in 1...100 { program.defaults.launchCount = number }
        #expect(program.defaults.launchCount == 100 && fixture.stored("launchCount") == nil)
        for _ in 0..<1000 { gate.signal() }  // There are fewer requests than signals.
        try await program.defaults.flush()
        #expect(fixture.stored("launchCount") == 100 && fixture.drainIssues() == [])
    }

    @Test("An async method throws `kept` when the outbox file contains the write, not before")
    func keptWritesAreStored() async throws {
        // The daemon is unreachable, and the outage timeout of the fixture is zero, so no method waits for an answer.
        let defaults = fixture.program(isServerUnreachable: true).defaults
        defaults.launchCount = 1
        for number in 2...200 {
            let error = await #expect(throws: DefaultsError.self) { try await defaults.set(\.launchCount, number) }
            guard case .kept = error else { throw error ?? .cancelled }
            try #require(fixture.storedCount == number)
        }
    }

    @Test("A write that an outage interrupts is reported as kept after the client thread has stored it")
    func interruptedWrites() async throws {
        let session = fixture.program().defaults.core.session
        let (reported, isReportedFirst) = (Promise<Void>(), Promise<Bool>())
        let waiter = Promise<WriteResult>()
        waiter.fulfill(.failure(.queued("no answer")))
        // Simulates a client thread that is still storing the write. The error must not be thrown during these 100 ms.
        ClientThread.shared.execute {
            isReportedFirst.fulfill(reported.wait(until: .now + .milliseconds(100)) != nil)
        }
        await #expect(throws: BackendError.self) { try await session.result(of: waiter) }
        reported.fulfill(())
        #expect(await isReportedFirst.value() == false)
    }
}
