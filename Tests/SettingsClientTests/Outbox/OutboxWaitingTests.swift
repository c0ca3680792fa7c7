import Dispatch
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct OutboxWaitingTests {
    private let world: OutboxWorld

    init() throws {
        world = try OutboxWorld()
    }

    @Test("A setter waits no longer than its timeout, and its write is sent after earlier writes in the outbox")
    func waiting() throws {
        let program = world.program(timeout: .milliseconds(50))
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
        #expect(defaults.loginTries == 5 && world["loginTries"] == nil)
        for _ in 0..<1000 { gate.signal() }  // There are fewer requests than signals.
        #expect(link.waitForAnsweredWrites(10))
        #expect(world["launchCount"] == 9 && world["loginTries"] == 5 && world.drainIssues() == [])
    }

    @Test("A background setter returns without an answer of the daemon, and the write is sent later")
    func background() async throws {
        let program = world.program(writes: .background)
        let gate = DispatchSemaphore(value: 0)
        program.link.setFate {
            gate.wait()
            return .answered
        }
        for number in 1...100 { program.defaults.launchCount = number }
        #expect(program.defaults.launchCount == 100 && world["launchCount"] == nil)
        for _ in 0..<1000 { gate.signal() }  // There are fewer requests than signals.
        try await program.defaults.flush()
        #expect(world["launchCount"] == 100 && world.drainIssues() == [])
    }

    @Test("An async method throws `kept` when the outbox file contains the write, not before")
    func keptWritesAreStored() async throws {
        // The daemon has been unreachable for longer than the timeout of callers, so no method waits for an answer.
        let defaults = world.program(isServerUnreachable: true).defaults
        defaults.launchCount = 1
        for number in 2...200 {
            let error = await #expect(throws: DefaultsError.self) { try await defaults.set(\.launchCount, number) }
            guard case .kept = error else { throw error ?? .cancelled }
            try #require(world.storedCount == number)
        }
    }

    @Test("A write that an outage interrupts is reported as kept after the client thread has stored it")
    func interruptedWrites() async throws {
        let session = world.program().defaults.core.session
        let (reported, isReportedFirst) = (Promise<Void>(), Promise<Bool>())
        let waiter = Promise<WriteResult>()
        waiter.fulfill(.failure(.queued("no answer")))
        // Simulates a client thread that is still storing the write.
        ClientThread.shared.execute {
            isReportedFirst.fulfill(reported.wait(until: .now + .milliseconds(100)) != nil)
        }
        await #expect(throws: BackendError.self) { try await session.result(of: waiter) }
        reported.fulfill(())
        #expect(await isReportedFirst.value() == false)
    }
}
