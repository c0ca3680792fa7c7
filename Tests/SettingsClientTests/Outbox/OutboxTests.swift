import Dispatch
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Kept writes: writes that wait in the outbox until the daemon has answered them. `link` is the connection of a
/// program to the server, and `fixture.stored(KEY)` is the value on the server. The programs use the keys `ClientKeys`,
/// where the default of `loginTries` is 1.
@Suite(.ownThread)
struct OutboxTests {
    private let fixture: OutboxFixture

    init() throws {
        fixture = try OutboxFixture()
    }

    @Test("Kept writes are sent in order, and the daemon answers each write once")
    func order() async throws {
        let program = fixture.program()
        let defaults = program.defaults
        defaults.launchCount = 0
        program.link.disconnect()
        for number in 1...20 {
            defaults["n\(number)"] = .integer(Int64(number))
            defaults[\.libraries].append("\(number)")
        }
        program.link.reconnect()
        defaults.launchCount = 1
        try await defaults.synchronize()
        // The request keys of 40 writes of the loop and of 2 writes of `launchCount`.
        let answered = program.link.answeredWrites
        #expect(answered.count == 42 && Set(answered).count == 42)
        #expect(fixture.stored("libraries") == .array((1...20).map { .string("\($0)") }))
    }

    @Test("A kept removeAll removes the values of earlier writes and keeps the values of later writes")
    func removeAll() async throws {
        let program = fixture.program()
        let defaults = program.defaults
        defaults.launchCount = 5
        defaults.username = "me"
        program.link.disconnect()
        defaults.loginTries = 7
        defaults.removeAll()
        defaults.username = "you"
        #expect(defaults.launchCount == 0 && defaults.loginTries == 1 && defaults.username == "you")
        #expect(!defaults.isSet(\.launchCount))
        program.link.reconnect()
        try await defaults.synchronize()
        #expect(
            fixture.stored("launchCount") == nil && fixture.stored("loginTries") == nil
                && fixture.stored("username") == "you")
        #expect(defaults.launchCount == 0 && defaults.username == "you" && fixture.drainIssues() == [])
    }

    @Test("A kept removal in a missing suite causes no error")
    func removalWithoutValue() async throws {
        let program = fixture.program()
        #expect(program.defaults.launchCount == 0)
        program.link.disconnect()
        program.defaults.remove(\.launchCount)
        program.defaults.removeAll()
        program.link.reconnect()
        try await program.defaults.synchronize()
        #expect(fixture.drainIssues() == [] && fixture.fileCount == 0)
    }

    @Test("Async methods throw `kept` for a write that waits in the outbox")
    func asyncForms() async throws {
        let program = fixture.program()
        let defaults = program.defaults
        defaults.launchCount = 1
        program.link.disconnect()
        // The reason is the error of the disconnected `link`.
        let kept = DefaultsError.kept("nobody is there")
        await #expect(throws: kept) { try await defaults.set(\.launchCount, 2) }
        await #expect(throws: kept) { try await defaults.update(\.launchCount) { $0 += 1 } }
        await #expect(throws: kept) { try await defaults.setIfAbsent(\.username) { "me" } }
        await #expect(throws: kept) {
            try await defaults.transaction { transaction in
                transaction[\.launchCount] += 1
                transaction[\.loginTries] = transaction[\.launchCount]
            }
        }
        #expect(defaults.launchCount == 4 && defaults.loginTries == 4 && defaults.username == "me")
        #expect(try await defaults.value(\.launchCount) == 4)
        await #expect(throws: kept) { try await defaults.synchronize() }
        #expect(defaults.launchCount == 4)
        program.link.reconnect()
        try await defaults.synchronize()
        #expect(
            fixture.stored("launchCount") == 4 && fixture.stored("loginTries") == 4
                && fixture.stored("username") == "me")
        #expect(fixture.drainIssues() == [])
        #expect(kept.description == "the write waits for the daemon: nobody is there")
    }

    @Test("Writes of several threads are sent in the order of each thread, even with an interrupted connection")
    func threads() throws {
        let program = fixture.program()
        let defaults = program.defaults
        for thread in 0..<4 { defaults["log \(thread)"] = [] }
        DispatchQueue.concurrentPerform(iterations: 5) { thread in
            for round in 0..<50 {
                if thread < 4 {
                    defaults["log \(thread)"] += [.integer(Int64(round))]
                } else {
                    program.link.disconnect()
                    program.link.reconnect()
                }
            }
        }
        // Four writes of empty arrays, and 50 writes of each of the four threads.
        #expect(program.link.waitForAnsweredWrites(204))
        for thread in 0..<4 {
            #expect(fixture.stored("log \(thread)") == .array((0..<50).map { .integer(Int64($0)) }), "thread \(thread)")
        }
        #expect(fixture.drainIssues() == [])
    }
}
