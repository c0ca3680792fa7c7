import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// A program adopts the outbox files of programs that have ended. A kept write is a write that waits in an outbox file.
/// `program.defaults` is the adapter, with which the program reads and writes settings. `fixture.end(&program)`
/// releases the adapter, and returns true if its session was deallocated and its outbox file was unlocked. `link` is
/// the connection of a program to the server, and `fixture.stored(KEY)` is the value on the server. The programs use
/// the keys `ClientKeys`, where the default of `loginTries` is 1.
@Suite(.ownThread)
struct OutboxInheritanceTests {
    private let fixture: OutboxFixture

    init() throws {
        fixture = try OutboxFixture()
    }

    @Test("A program sends the kept writes of an ended program before its own writes, and getters show all writes")
    func inheritance() async throws {
        var first: OutboxFixture.Program? = fixture.program()
        first?.defaults.visits = 5
        first?.defaults.username = "me"
        first?.link.disconnect()
        first?.defaults.launchCount = 1
        first?.defaults.visits += 1
        first?.defaults.remove(\.username)
        #expect(fixture.end(&first))
        let second = fixture.program(isServerUnreachable: true)
        #expect(second.defaults.launchCount == 1 && second.defaults.username == nil)
        #expect(!second.defaults.isSet(\.username))
        second.defaults.launchCount += 1
        // `second` has moved the writes of `first` into its own file.
        #expect(second.defaults.launchCount == 2 && fixture.fileCount == 1)
        var other: OutboxFixture.Program? = fixture.program(isServerUnreachable: true)
        other?.defaults.theme = .dark
        #expect(fixture.end(&other))
        second.link.reconnect()
        try await second.defaults.synchronize()
        #expect(
            fixture.stored("launchCount") == 2 && fixture.stored("visits") == 6 && fixture.stored("username") == nil)
        // `second` has not searched for the files of ended programs again, so the write of `other` still waits.
        #expect(fixture.stored("theme") == nil && fixture.waitingWrites.count == 1)
        let third = fixture.program()
        #expect(third.defaults.launchCount == 2 && third.defaults.visits == 6 && third.defaults.theme == .dark)
        try await third.defaults.synchronize()
        #expect(fixture.stored("theme") == "dark" && fixture.fileCount == 0 && fixture.drainIssues() == [])
    }

    @Test("An adapter that is released while a write waits is deallocated, and the write stays in the outbox file")
    func releasedAdapter() throws {
        var program: OutboxFixture.Program? = fixture.program(isServerUnreachable: true)
        program?.defaults.launchCount = 1
        #expect(fixture.end(&program))
        #expect(fixture.waitingWrites.count == 1)
    }

    @Test("The outbox file of a running program is adopted after the program has ended")
    func repeatedSearch() throws {
        var first: OutboxFixture.Program? = fixture.program(isServerUnreachable: true)
        first?.defaults.launchCount = 1
        let second = fixture.program(abandonedFileSearchInterval: .milliseconds(1))
        second.defaults.loginTries = 5
        #expect(second.defaults.launchCount == 0)
        #expect(fixture.end(&first))
        // The second program sends its own write and the write of the first program.
        #expect(second.link.waitForAnsweredWrites(2))
        #expect(fixture.stored("launchCount") == 1 && fixture.stored("loginTries") == 5)
    }

    @Test("A setter whose write is queued behind kept writes returns when its own write is done")
    func behindKeptWrites() async throws {
        // Runs a program that ends before it has sent its write of `loginTries`.
        #expect(fixture.leaveWaitingWrite(loginTries: 7))
        let first = fixture.program()
        first.defaults.launchCount = 5
        #expect(fixture.stored("launchCount") == 5 && fixture.stored("loginTries") == 7)
        #expect(fixture.leaveWaitingWrite(loginTries: 7))
        let second = fixture.program()
        try await second.defaults.set(\.launchCount, 6)
        #expect(fixture.stored("launchCount") == 6)
        #expect(fixture.leaveWaitingWrite(loginTries: 7))
        let third = fixture.program()
        third.defaults.removeAll()
        #expect(fixture.stored("launchCount") == nil && third.defaults.loginTries == 1)
        #expect(fixture.drainIssues() == [] && fixture.fileCount == 0)
    }

    @Test
    func `A refusal of a write behind kept writes is thrown by a method, or reported once by a setter`() async throws {
        // The schema has fewer keys than `ClientKeys`, so each program also reports an issue about the schema.
        let fixture = try OutboxFixture(
            schema: try Schema(
                keys: [
                    DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3),
                    DefaultsKey<Int>("loginTries", defaultValue: 1),
                ]))
        #expect(fixture.leaveWaitingWrite(loginTries: 7))
        let first = fixture.program()
        let error = await #expect(throws: DefaultsError.self) { try await first.defaults.set(\.launchCount, 4) }
        #expect(error?.code == .invalidValue && first.defaults.launchCount == 0)
        #expect(fixture.drainIssuesOtherThanSchemaChecks() == [])
        #expect(fixture.leaveWaitingWrite(loginTries: 7))
        let second = fixture.program()
        second.defaults.launchCount = 4
        #expect(second.defaults.launchCount == 0)
        #expect(fixture.drainIssuesOtherThanSchemaChecks().map(\.error.code) == [.invalidValue])
        #expect(fixture.leaveWaitingWrite(loginTries: 7))
        // `setIfAbsent` returns whether it has set the value. A value that was already set is not an error.
        let third = fixture.program()
        #expect(try await third.defaults.setIfAbsent(\.launchCount) { 1 })
        #expect(fixture.leaveWaitingWrite(loginTries: 7))
        let fourth = fixture.program()
        #expect(try await !fourth.defaults.setIfAbsent(\.launchCount) { 2 })
        #expect(fixture.stored("launchCount") == 1 && fixture.drainIssuesOtherThanSchemaChecks() == [])
    }

    @Test("The write of a setter with a timeout of 1 ms, queued behind a kept write, is sent")
    func timeout() throws {
        #expect(fixture.leaveWaitingWrite(loginTries: 7))
        let program = fixture.program(timeout: .milliseconds(1))
        program.defaults.launchCount = 5
        // The kept write and the write of the setter.
        #expect(program.link.waitForAnsweredWrites(2))
        #expect(fixture.stored("launchCount") == 5)
    }

    @Test("A schema is set after the earlier kept writes")
    func schemas() async throws {
        #expect(fixture.leaveWaitingWrite(loginTries: 7))
        let program = fixture.program()
        let error = await #expect(throws: DefaultsError.self) {
            try await program.defaults.publishSchema { \.launchCount }
        }
        // The server stores `loginTries` first, and a schema with the single key `launchCount` does not allow this
        // value.
        #expect(error?.code == .schemaConflict && fixture.stored("loginTries") == 7)
        #expect(try await program.defaults.publishSchema { \.loginTries })
        #expect(program.defaults.loginTries == 7)
    }
}
