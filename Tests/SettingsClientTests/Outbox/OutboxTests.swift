import Dispatch
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct OutboxTests {
    private let world: KeptWorld

    init() throws {
        world = try KeptWorld()
    }

    @Test("Setters return, the program sees what it wrote, and the server gets it when it is back")
    func away() async throws {
        let program = world.program()
        let defaults = program.defaults
        defaults.launchCount = 1
        defaults.username = "me"
        program.link.leave()
        defaults.launchCount = 2
        defaults.launchCount += 40
        defaults.username = nil
        defaults.player.queue.append("song")
        defaults[\.theme] ?= .dark
        defaults["color"] = "red"
        defaults["color"] += "dish"
        #expect(defaults.launchCount == 42 && defaults.username == nil && defaults.player.queue == ["song"])
        #expect(defaults.theme == .dark && defaults["color"].string == "reddish")
        #expect(defaults.isSet(\.launchCount) && !defaults.isSet(\.username) && defaults.isSet(\.theme))
        #expect(world["launchCount"] == 1 && world["username"] == "me")
        program.link.comeBack()
        try await defaults.synchronize()
        #expect(world["launchCount"] == 42 && world["username"] == nil && world["player.queue"] == ["song"])
        #expect(world["theme"] == "dark" && world["color"] == "reddish")
        #expect(defaults.launchCount == 42 && defaults.username == nil && defaults.player.queue == ["song"])
        #expect(world.fileCount == 0 && world.takeIssues() == [])
    }

    @Test("It is sent by itself, without anybody asking")
    func byItself() throws {
        let program = world.program()
        program.defaults.launchCount = 1
        program.link.leave()
        program.defaults.launchCount = 2
        // At least once more in vain.
        #expect(program.link.log.wait { $0.count { $0.hasPrefix("!") } >= 2 })
        program.link.comeBack()
        #expect(program.link.log.wait { $0.count { !$0.hasPrefix("!") } == 2 })
        #expect(world["launchCount"] == 2)
    }

    @Test("What waits before it is sent before it; each goes under the name that it had first")
    func order() async throws {
        let program = world.program()
        let defaults = program.defaults
        defaults.launchCount = 0
        program.link.leave()
        for number in 1...20 {
            defaults["n\(number)"] = .integer(Int64(number))
            defaults[\.libraries].append("\(number)")
        }
        program.link.comeBack()
        defaults.launchCount = 1
        try await defaults.synchronize()
        let sent = program.link.log.all.filter { !$0.hasPrefix("!") }
        #expect(sent.count == 42 && Set(sent).count == 42)
        let numbers = sent.compactMap { $0.split(separator: "-").last.flatMap { Int($0, radix: 36) } }
        #expect(numbers == numbers.sorted())
        #expect(world["libraries"] == .array((1...20).map { .string("\($0)") }))
    }

    @Test("A write whose answer was lost is done once")
    func lostAnswers() async throws {
        let program = world.program()
        let defaults = program.defaults
        defaults.visits = 1
        defaults.recent = []
        program.link.decide { .answerLost }
        defaults.visits += 1
        defaults.recent.append("a")
        defaults["visits"] += 10
        #expect(world["visits"] == 2 && world["recent"] == [], "one is done, and nobody knows that")
        program.link.decide { .answered }
        try await defaults.synchronize()
        #expect(world["visits"] == 12 && world["recent"] == ["a"])
        #expect(defaults.visits == 12 && defaults.recent == ["a"] && world.takeIssues() == [])
    }

    @Test("Removing everything waits in its place too, and hides what turns up")
    func removeAll() async throws {
        let program = world.program()
        let defaults = program.defaults
        defaults.launchCount = 5
        defaults.username = "me"
        program.link.leave()
        defaults.loginTries = 7
        defaults.removeAll()
        defaults.username = "you"
        #expect(defaults.launchCount == 0 && defaults.loginTries == 1 && defaults.username == "you")
        #expect(!defaults.isSet(\.launchCount))
        program.link.comeBack()
        try await defaults.synchronize()
        #expect(world["launchCount"] == nil && world["loginTries"] == nil && world["username"] == "you")
        #expect(defaults.launchCount == 0 && defaults.username == "you" && world.takeIssues() == [])
    }

    @Test("What there is no suite for is no matter")
    func vain() async throws {
        let program = world.program()
        #expect(program.defaults.launchCount == 0)
        program.link.leave()
        program.defaults.remove(\.launchCount)
        program.defaults.removeAll()
        program.link.comeBack()
        try await program.defaults.synchronize()
        #expect(world.takeIssues() == [] && world.fileCount == 0)
    }

    @Test("The forms that throw say that a write waits")
    func asyncForms() async throws {
        let program = world.program()
        let defaults = program.defaults
        defaults.launchCount = 1
        program.link.leave()
        await #expect(throws: DefaultsError.kept("nobody is there")) { try await defaults.set(\.launchCount, 2) }
        let later = DefaultsError.kept("earlier writes wait: nobody is there")
        await #expect(throws: later) { try await defaults.update(\.launchCount) { $0 += 1 } }
        await #expect(throws: later) { try await defaults.setIfAbsent(\.username) { "me" } }
        await #expect(throws: later) {
            try await defaults.transaction { transaction in
                transaction[\.launchCount] += 1
                transaction[\.loginTries] = transaction[\.launchCount]
            }
        }
        #expect(defaults.launchCount == 4 && defaults.loginTries == 4 && defaults.username == "me")
        #expect(try await defaults.value(\.launchCount) == 4)
        await #expect(throws: DefaultsError.unreachable("nobody is there")) { try await defaults.synchronize() }
        #expect(defaults.launchCount == 4)
        program.link.comeBack()
        try await defaults.synchronize()
        #expect(world["launchCount"] == 4 && world["loginTries"] == 4 && world["username"] == "me")
        #expect(world.takeIssues() == [])
        #expect(later.description == "kept until the server takes it: earlier writes wait: nobody is there")
    }

    @Test("Without a server from the start, a program sees its own writes, and defaults with an issue else")
    func fromTheStart() async throws {
        let program = world.program(isAway: true)
        let defaults = program.defaults
        defaults.launchCount = 5
        defaults.launchCount += 1
        defaults["color"] = "red"
        #expect(defaults.launchCount == 6 && defaults["color"].string == "red" && defaults.isSet(\.launchCount))
        #expect(try await defaults.value(\.launchCount) == 6)
        #expect(world.takeIssues() == [])
        #expect(defaults.loginTries == 1)
        await #expect(throws: DefaultsError.unreachable("nobody is there")) { try await defaults.value(\.loginTries) }
        #expect(world.takeIssues().map(\.attempt) == [.read])
        // What is computed from the default is stored if nothing else is.
        defaults.loginTries += 1
        defaults.visits += 2
        defaults["n"] += 3
        #expect(world.takeIssues().filter { $0.attempt == .write }.map(\.key) == [])
        world.program().defaults.visits = 40
        program.link.comeBack()
        try await defaults.synchronize()
        #expect(world["launchCount"] == 6 && world["visits"] == 42 && world["n"] == 3 && world["color"] == "red")
        #expect(world["loginTries"] == 2)
        #expect(defaults.visits == 42 && defaults.loginTries == 2 && world.takeIssues() == [])
    }

    @Test("What many threads write goes out by itself, in the order of each, however often the server goes")
    func threads() throws {
        let program = world.program()
        let defaults = program.defaults
        for thread in 0..<4 { defaults["log \(thread)"] = [] }
        DispatchQueue.concurrentPerform(iterations: 5) { thread in
            for round in 0..<50 {
                if thread < 4 {
                    defaults["log \(thread)"] += [.integer(Int64(round))]
                } else {
                    program.link.leave()
                    program.link.comeBack()
                }
            }
        }
        #expect(program.link.log.wait { $0.count { !$0.hasPrefix("!") } == 204 })
        for thread in 0..<4 {
            #expect(world["log \(thread)"] == .array((0..<50).map { .integer(Int64($0)) }), "thread \(thread)")
        }
        #expect(world.takeIssues() == [])
    }
}
