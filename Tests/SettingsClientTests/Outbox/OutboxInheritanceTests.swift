import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// A program adopts the outbox files of programs that have ended. A kept write is a write that waits in an outbox file.
@Suite(.ownThread)
struct OutboxInheritanceTests {
    private let world: OutboxWorld

    init() throws {
        world = try OutboxWorld()
    }

    @Test("A program sends the kept writes of an ended program before its own writes, and getters return both values")
    func inheritance() async throws {
        var first: OutboxWorld.Program? = world.program()
        first?.defaults.visits = 5
        first?.defaults.username = "me"
        first?.link.disconnect()
        first?.defaults.launchCount = 1
        first?.defaults.visits += 1
        first?.defaults.remove(\.username)
        #expect(world.end(&first))
        let second = world.program(isServerUnreachable: true)
        #expect(second.defaults.launchCount == 1 && second.defaults.username == nil)
        #expect(!second.defaults.isSet(\.username))
        second.defaults.launchCount += 1
        #expect(second.defaults.launchCount == 2 && world.fileCount == 1)
        var other: OutboxWorld.Program? = world.program(isServerUnreachable: true)
        other?.defaults.theme = .dark
        #expect(world.end(&other))
        second.link.reconnect()
        try await second.defaults.synchronize()
        #expect(world["launchCount"] == 2 && world["visits"] == 6 && world["username"] == nil)
        #expect(world["theme"] == nil && world.waitingWrites.count == 1)
        let third = world.program()
        #expect(third.defaults.launchCount == 2 && third.defaults.visits == 6 && third.defaults.theme == .dark)
        try await third.defaults.synchronize()
        #expect(world["theme"] == "dark" && world.fileCount == 0 && world.drainIssues() == [])
    }

    @Test("An adapter that is released while a write waits is deallocated, and the write stays in the outbox file")
    func releasedAdapter() throws {
        var program: OutboxWorld.Program? = world.program(isServerUnreachable: true)
        program?.defaults.launchCount = 1
        #expect(world.end(&program))
        #expect(world.waitingWrites.count == 1)
    }

    @Test("The outbox file of a running program is adopted after the program has ended")
    func repeatedSearch() throws {
        var first: OutboxWorld.Program? = world.program(isServerUnreachable: true)
        first?.defaults.launchCount = 1
        let second = world.program(abandonedFileSearchInterval: .milliseconds(1))
        second.defaults.loginTries = 5
        #expect(second.defaults.launchCount == 0)
        #expect(world.end(&first))
        // The second program sends its own write and the write of the first program.
        #expect(second.link.waitForAnsweredWrites(2))
        #expect(world["launchCount"] == 1 && world["loginTries"] == 5)
    }

    @Test("A setter whose write is queued behind kept writes returns when its own write is done")
    func behindKeptWrites() async throws {
        #expect(world.leaveWaitingWrite(loginTries: 7))
        let first = world.program()
        first.defaults.launchCount = 5
        #expect(world["launchCount"] == 5 && world["loginTries"] == 7)
        #expect(world.leaveWaitingWrite(loginTries: 7))
        let second = world.program()
        try await second.defaults.set(\.launchCount, 6)
        #expect(world["launchCount"] == 6)
        #expect(world.leaveWaitingWrite(loginTries: 7))
        let third = world.program()
        third.defaults.removeAll()
        #expect(world["launchCount"] == nil && third.defaults.loginTries == 1)
        #expect(world.drainIssues() == [] && world.fileCount == 0)
    }

    @Test
    func `A refusal of a write that is queued behind kept writes is thrown or reported once`() async throws {
        let world = try OutboxWorld(
            schema: try Schema(
                keys: [
                    DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3),
                    DefaultsKey<Int>("loginTries", defaultValue: 1),
                ]))
        #expect(world.leaveWaitingWrite(loginTries: 7))
        let first = world.program()
        let error = await #expect(throws: DefaultsError.self) { try await first.defaults.set(\.launchCount, 4) }
        #expect(error?.code == .invalidValue && first.defaults.launchCount == 0)
        #expect(world.drainIssuesOtherThanSchemaChecks() == [])
        #expect(world.leaveWaitingWrite(loginTries: 7))
        let second = world.program()
        second.defaults.launchCount = 4
        #expect(second.defaults.launchCount == 0)
        #expect(world.drainIssuesOtherThanSchemaChecks().map(\.error.code) == [.invalidValue])
        #expect(world.leaveWaitingWrite(loginTries: 7))
        let third = world.program()
        #expect(try await third.defaults.setIfAbsent(\.launchCount) { 1 })
        #expect(world.leaveWaitingWrite(loginTries: 7))
        let fourth = world.program()
        #expect(try await !fourth.defaults.setIfAbsent(\.launchCount) { 2 })
        #expect(world["launchCount"] == 1 && world.drainIssuesOtherThanSchemaChecks() == [])
    }

    @Test("A setter waits no longer than its timeout, and its write is sent later")
    func timeout() throws {
        #expect(world.leaveWaitingWrite(loginTries: 7))
        let program = world.program(timeout: .milliseconds(1))
        program.defaults.launchCount = 5
        #expect(program.link.waitForAnsweredWrites(2))
        #expect(world["launchCount"] == 5)
    }

    @Test("A schema is set after the earlier kept writes")
    func schemas() async throws {
        #expect(world.leaveWaitingWrite(loginTries: 7))
        let program = world.program()
        let error = await #expect(throws: DefaultsError.self) {
            try await program.defaults.publishSchema { \.launchCount }
        }
        #expect(error?.code == .schemaConflict && world["loginTries"] == 7)
        #expect(try await program.defaults.publishSchema { \.loginTries })
        #expect(program.defaults.loginTries == 7)
    }
}
