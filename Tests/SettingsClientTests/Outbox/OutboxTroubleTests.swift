import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Programs whose writes cannot be stored in the outbox file, or are refused by the server. `link` is the connection of
/// a program to the server, and `fixture.stored(KEY)` is the value on the server.
@Suite(.ownThread)
struct OutboxTroubleTests {
    private let fixture: OutboxFixture

    init() throws {
        fixture = try OutboxFixture()
    }

    @Test("A write that does not fit into the outbox file takes effect and is reported, and the next write is sent")
    func fullDisk() async throws {
        let program = fixture.program()
        let defaults = program.defaults
        defaults.launchCount = 1
        program.link.disconnect()
        fixture.files.fail(.write)
        defaults.launchCount = 2
        #expect(defaults.launchCount == 2)
        let issue = try #require(fixture.drainIssues().first)
        guard case .unusableFile(_, let reason) = issue.error else { throw issue.error }
        #expect(issue.key == "launchCount" && reason.hasPrefix("No space left on device; "))
        fixture.files.repair()
        defaults.launchCount = 3
        #expect(defaults.launchCount == 3 && fixture.drainIssues() == [])
        #expect(
            fixture.waitingWrites.isEmpty,
            "other programs do not adopt the file, because the running program has locked it")
        program.link.reconnect()
        try await defaults.synchronize()
        #expect(fixture.stored("launchCount") == 3 && fixture.fileCount == 0)
    }

    @Test("A write beyond the limit of the queue is rolled back and reported")
    func fullQueue() async throws {
        let program = fixture.program(limits: OutboxStore.Limits(writes: 1))
        let defaults = program.defaults
        defaults.launchCount = 1
        program.link.disconnect()
        defaults.launchCount = 3
        #expect(defaults.launchCount == 3 && fixture.drainIssues() == [])
        defaults.launchCount = 4
        defaults.removeAll()
        #expect(defaults.launchCount == 3)
        let codes = fixture.drainIssues().map(\.error.code)
        #expect(codes == [.insufficientStorage, .insufficientStorage], "the write of 4 and `removeAll`")
        program.link.reconnect()
        try await defaults.synchronize()
        #expect(fixture.stored("launchCount") == 3)
    }

    @Test("A server that temporarily refuses writes is reported once, and no write is lost")
    func busy() async throws {
        let program = fixture.program()
        let defaults = program.defaults
        defaults.launchCount = 1
        program.link.setFate { .refused(Problem(.insufficientStorage, "the disk is full")) }
        defaults.launchCount = 2
        for number in 3...5 {
            defaults.launchCount = number
            await #expect(throws: DefaultsError.self) { try await defaults.synchronize() }
        }
        #expect(defaults.launchCount == 5)
        let reason = "a write waits: 507 insufficient_storage: the disk is full"
        #expect(fixture.drainIssues().map(\.error) == [.kept(reason)])
        program.link.setFate { .answered }
        try await defaults.synchronize()
        #expect(fixture.stored("launchCount") == 5 && fixture.drainIssues() == [])
    }

    @Test
    func `A program that starts without a server increments an untyped setting after the server is back`() async throws
    {
        let program = fixture.program(isServerUnreachable: true)
        #expect(program.defaults["n"].value == nil)
        #expect(fixture.drainIssues().map(\.attempt) == [.read])
        program.link.reconnect()
        program.defaults["n"] += 3
        try await program.defaults.flush()
        #expect(fixture.stored("n") == 3 && fixture.drainIssues() == [])
        // The log has an entry for each attempt to send the write. At most one attempt failed before the answered
        // attempt.
        #expect(program.link.log.all.count <= 2)
    }

    @Test("A log handler can write settings", .timeLimit(.minutes(10)))
    func logHandlerThatWrites() async throws {
        // The adapter that the log handlers use.
        let handlerAdapter = Mutex<DefaultsAdapter<ClientKeys>?>(nil)
        let program = fixture.program { issue in
            guard let defaults = handlerAdapter.withLock({ $0 }) else { return }
            defaults["issue of \(issue.key ?? "nothing")"] = .string("\(issue.error.code?.rawValue ?? "")")
        }
        let defaults = program.defaults
        handlerAdapter.withLock { $0 = defaults }
        defaults.launchCount = 1
        program.link.disconnect()
        defaults.launchCount += 1
        let other = fixture.program()
        other.defaults.launchCount = 10
        program.link.reconnect()
        try await defaults.synchronize()
        #expect(fixture.stored("issue of launchCount") == "precondition_failed")
        // The handler writes the key whose queued writes are being refused. The program must not deadlock.
        let next = fixture.program { issue in
            if issue.attempt == .write { handlerAdapter.withLock({ $0 })?.launchCount = 77 }
        }
        handlerAdapter.withLock { $0 = next.defaults }
        #expect(next.defaults.launchCount == 10)
        next.link.disconnect()
        for _ in 0..<20 { next.defaults.launchCount += 1 }
        #expect(next.defaults.launchCount == 30)
        other.defaults.launchCount = 8
        next.link.reconnect()
        for _ in 0..<20 { next.defaults.launchCount += 1 }
        try await next.defaults.synchronize()
        // The 20 increments of the outage are refused, because `other` has changed the value.
        #expect(fixture.drainIssues().count >= 20)
        handlerAdapter.withLock { $0 = nil }
    }
}
