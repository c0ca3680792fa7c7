import Dispatch
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

@Suite("Writing while nobody is there")
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

    @Test("What is refused at last is taken back and reported, and what rests on it too")
    func refused() async throws {
        let world = try KeptWorld(
            schema: try Schema(
                keys: [
                    DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3),
                    DefaultsKey<Int>("loginTries", defaultValue: 1),
                ]))
        let program = world.program()
        let defaults = program.defaults
        defaults.launchCount = 3
        program.link.leave()
        defaults.launchCount = 4
        defaults.launchCount += 1
        defaults.loginTries = 2
        defaults.username = "me"
        #expect(defaults.launchCount == 5 && defaults.username == "me")
        program.link.comeBack()
        try await defaults.synchronize()
        #expect(defaults.launchCount == 3 && defaults.loginTries == 2 && defaults.username == nil)
        #expect(world["loginTries"] == 2)
        // That the keys do not agree with the schema is told, too.
        let issues = world.takeIssues().filter { $0.attempt != .check }
        #expect(issues.map(\.key) == ["launchCount", "launchCount", "username"])
        #expect(issues.map(\.error.code) == [.invalidValue, .preconditionFailed, .unknownKey])
        #expect(issues.allSatisfy { $0.attempt == .write })
    }

    @Test("What others did meanwhile is merged where the key says how, and else stays")
    func conflicts() async throws {
        let (one, two) = (world.program(), world.program())
        let (mine, theirs) = (one.defaults, two.defaults)
        mine.visits = 5
        mine.tags = ["b"]
        mine.recent = ["r"]
        mine.launchCount = 5
        mine["text"] = "a"
        try await theirs.synchronize()
        one.link.leave()
        // The first of these is tried, the others are not.
        mine.visits += 1
        mine.visits += 1
        mine.meters += 2.5
        mine.recent.append("m")
        mine.tags.insert("a")
        mine.launchCount += 1
        mine["text"] += "m"
        mine["new"] += 1
        theirs.visits = 100
        theirs.meters = 1
        theirs.recent.append("t")
        theirs.tags.insert("c")
        theirs.launchCount = 50
        theirs["text"] += "t"
        theirs["new"] = 10
        one.link.comeBack()
        try await mine.synchronize()
        #expect(mine.visits == 102 && mine.meters == 3.5 && mine.recent == ["r", "t", "m"])
        #expect(mine.tags == ["a", "b", "c"] && world["tags"] == ["a", "b", "c"])
        #expect(mine["text"].string == "atm" && mine["new"].int == 11)
        #expect(mine.launchCount == 50)
        #expect(world.takeIssues().map(\.key) == ["launchCount"])
    }

    @Test("A change that took another form is done once, also if its answer is lost and the program ends")
    func conflictAndCrash() async throws {
        var one: KeptWorld.Program? = world.program()
        let two = world.program()
        one?.defaults.visits = 5
        one?.link.leave()
        one?.defaults.visits += 1
        two.defaults.visits = 100
        let requests = Mutex(0)
        one?.link.decide {
            let number = requests.withLock { requests in
                requests += 1
                return requests
            }
            // The first finds another value; the second adds to that.
            return number == 1 ? .answered : number == 2 ? .answerLost : .notSent
        }
        one?.link.comeBack()
        _ = try? await one?.defaults.synchronize()
        #expect(world["visits"] == 101 && world.end(&one))
        let next = world.program()
        try await next.defaults.synchronize()
        #expect(world["visits"] == 101 && next.defaults.visits == 101 && world.takeIssues() == [])
    }

    @Test("A change by revision of a value that went there and back is done")
    func thereAndBack() async throws {
        let (one, two) = (world.program(), world.program())
        one.defaults.launchCount = 5
        one.link.leave()
        one.defaults.launchCount += 1
        two.defaults.launchCount = 6
        two.defaults.launchCount = 5
        one.link.comeBack()
        try await one.defaults.synchronize()
        #expect(world["launchCount"] == 6 && world.takeIssues() == [])
    }

    @Test("What is removed meanwhile is counted from its start")
    func startingAnew() async throws {
        let (one, two) = (world.program(), world.program())
        one.defaults.visits = 5
        one.defaults["n"] = 5
        one.link.leave()
        one.defaults.visits += 1
        one.defaults.visits += 1
        one.defaults["n"] += 3
        two.defaults.removeAll()
        one.link.comeBack()
        try await one.defaults.synchronize()
        #expect(world["visits"] == 2 && world["n"] == 3 && world.takeIssues() == [])
    }

    @Test("A value that is to be stored only if there is none yields to one that was stored meanwhile")
    func yielding() async throws {
        let (one, two) = (world.program(), world.program())
        one.defaults.launchCount = 1
        one.link.leave()
        one.defaults[\.username] ?= "mine"
        one.defaults[\.nickname] ?= "mine"
        one.defaults["color"] ?= "mine"
        #expect(one.defaults.username == "mine")
        two.defaults.username = "theirs"
        two.defaults["color"] = "theirs"
        one.link.comeBack()
        try await one.defaults.synchronize()
        #expect(one.defaults.username == "theirs" && one.defaults.nickname == "mine")
        #expect(world["color"] == "theirs" && world["nickname"] == "mine")
        #expect(world.takeIssues() == [])
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

    @Test("A transaction waits whole: if what it read was changed meanwhile, nothing of it is done")
    func transactions() async throws {
        let (one, two) = (world.program(), world.program())
        one.defaults.launchCount = 1
        try await two.defaults.synchronize()
        one.link.leave()
        await #expect(throws: DefaultsError.self) {
            try await one.defaults.transaction { transaction in
                transaction[\.launchCount] += 1
                transaction[\.loginTries] = 9
            }
        }
        #expect(one.defaults.loginTries == 9)
        two.defaults.launchCount = 7
        one.link.comeBack()
        try await one.defaults.synchronize()
        #expect(one.defaults.launchCount == 7 && one.defaults.loginTries == 1)
        #expect(world["launchCount"] == 7 && world["loginTries"] == nil)
        let issues = world.takeIssues()
        #expect(issues.map(\.key) == [nil] && issues.map(\.error.isConflict) == [true])
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
        // What cannot be computed is not stored; what needs no computing is.
        defaults.loginTries += 1
        defaults.visits += 2
        defaults["n"] += 3
        #expect(world.takeIssues().filter { $0.attempt == .write }.map(\.key) == ["loginTries"])
        world.program().defaults.visits = 40
        program.link.comeBack()
        try await defaults.synchronize()
        #expect(world["launchCount"] == 6 && world["visits"] == 42 && world["n"] == 3 && world["color"] == "red")
        #expect(defaults.visits == 42 && defaults.loginTries == 1 && world.takeIssues() == [])
    }

    @Test("The next program sends what a program left behind, sees it, and sends its own behind it")
    func inheritance() async throws {
        var first: KeptWorld.Program? = world.program()
        first?.defaults.visits = 5
        first?.defaults.username = "me"
        first?.link.leave()
        first?.defaults.launchCount = 1
        first?.defaults.visits += 1
        first?.defaults.remove(\.username)
        #expect(world.end(&first))
        let second = world.program(isAway: true)
        #expect(second.defaults.launchCount == 1 && second.defaults.username == nil)
        #expect(!second.defaults.isSet(\.username))
        second.defaults.launchCount += 1
        #expect(second.defaults.launchCount == 2 && world.fileCount == 1)
        var other: KeptWorld.Program? = world.program(isAway: true)
        other?.defaults.theme = .dark
        #expect(world.end(&other))
        second.link.comeBack()
        try await second.defaults.synchronize()
        #expect(world["launchCount"] == 2 && world["visits"] == 6 && world["username"] == nil)
        #expect(world["theme"] == nil && world.waiting.count == 1)
        let third = world.program()
        #expect(third.defaults.launchCount == 2 && third.defaults.visits == 6 && third.defaults.theme == .dark)
        try await third.defaults.synchronize()
        #expect(world["theme"] == "dark" && world.fileCount == 0 && world.takeIssues() == [])
    }

    @Test("What cannot be kept either is taken back and reported, as is what is beyond the bound")
    func fullDisk() async throws {
        let program = world.program(limits: OutboxStore.Limits(writes: 1))
        let defaults = program.defaults
        defaults.launchCount = 1
        program.link.leave()
        world.files.fail(.write)
        defaults.launchCount = 2
        #expect(defaults.launchCount == 1)
        let issue = try #require(world.takeIssues().first)
        guard case .unreachable(let reason) = issue.error else { throw issue.error }
        #expect(reason.hasPrefix("nobody is there; and it cannot be kept for later: "))
        #expect(reason.hasSuffix("No space left on device"))
        world.files.repair()
        defaults.launchCount = 3
        #expect(defaults.launchCount == 3 && world.takeIssues() == [])
        defaults.launchCount = 4
        defaults.removeAll()
        #expect(defaults.launchCount == 3)
        #expect(world.takeIssues().map(\.attempt) == [.write, .write])
        program.link.comeBack()
        try await defaults.synchronize()
        #expect(world["launchCount"] == 3)
        program.link.leave()
        defaults.launchCount = 5
        #expect(defaults.launchCount == 5 && world.takeIssues() == [])
    }

    @Test("A server that is there and takes nothing is told of once; nothing is lost by it")
    func busy() async throws {
        let program = world.program()
        let defaults = program.defaults
        defaults.launchCount = 1
        program.link.decide { .refused(Problem(.insufficientStorage, "the disk is full")) }
        defaults.launchCount = 2
        for number in 3...5 {
            defaults.launchCount = number
            await #expect(throws: DefaultsError.self) { try await defaults.synchronize() }
        }
        #expect(defaults.launchCount == 5)
        let reason = "a write waits, as it is not taken: 507 insufficient_storage: the disk is full"
        #expect(world.takeIssues().map(\.error) == [.kept(reason)])
        program.link.decide { .answered }
        try await defaults.synchronize()
        #expect(world["launchCount"] == 5 && world.takeIssues() == [])
    }

    /// Leaves a write behind for the next program.
    private func leaveSomething(in world: KeptWorld) {
        var program: KeptWorld.Program? = world.program(isAway: true)
        program?.defaults.loginTries = 7
        #expect(world.end(&program))
    }

    @Test("Behind others, too, a setter returns when its write is done, if somebody is there")
    func behindOthers() async throws {
        leaveSomething(in: world)
        let first = world.program()
        first.defaults.launchCount = 5
        #expect(world["launchCount"] == 5 && world["loginTries"] == 7)
        leaveSomething(in: world)
        let second = world.program()
        try await second.defaults.set(\.launchCount, 6)
        #expect(world["launchCount"] == 6)
        leaveSomething(in: world)
        let third = world.program()
        third.defaults.removeAll()
        #expect(world["launchCount"] == nil && third.defaults.loginTries == 1)
        #expect(world.takeIssues() == [] && world.fileCount == 0)
    }

    @Test("Behind others, too, what is refused is thrown where that can be, and else reported, once")
    func refusedBehindOthers() async throws {
        let world = try KeptWorld(
            schema: try Schema(
                keys: [
                    DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3),
                    DefaultsKey<Int>("loginTries", defaultValue: 1),
                ]))
        leaveSomething(in: world)
        let first = world.program()
        let error = await #expect(throws: DefaultsError.self) { try await first.defaults.set(\.launchCount, 4) }
        #expect(error?.code == .invalidValue && first.defaults.launchCount == 0)
        #expect(world.takeIssues().filter { $0.attempt != .check } == [])
        leaveSomething(in: world)
        let second = world.program()
        second.defaults.launchCount = 4
        #expect(second.defaults.launchCount == 0)
        #expect(world.takeIssues().filter { $0.attempt != .check }.map(\.error.code) == [.invalidValue])
        leaveSomething(in: world)
        let third = world.program()
        #expect(try await third.defaults.setIfAbsent(\.launchCount) { 1 })
        leaveSomething(in: world)
        let fourth = world.program()
        #expect(try await !fourth.defaults.setIfAbsent(\.launchCount) { 2 })
        #expect(world["launchCount"] == 1 && world.takeIssues().filter { $0.attempt != .check } == [])
    }

    @Test("A setter does not wait longer than it may; its write goes out by itself")
    func patience() throws {
        leaveSomething(in: world)
        let program = world.program(patience: .zero)
        program.defaults.launchCount = 5
        #expect(program.link.log.wait { $0.count == 2 })
        #expect(world["launchCount"] == 5)
    }

    @Test("Whoever is told of an issue may write something", .timeLimit(.minutes(2)))
    func writingLog() async throws {
        let box = Mutex<DefaultsAdapter<ClientKeys>?>(nil)
        let program = world.program { issue in
            guard let defaults = box.withLock({ $0 }) else { return }
            defaults["issue of \(issue.key ?? "nothing")"] = .string("\(issue.error.code?.rawValue ?? "")")
        }
        let defaults = program.defaults
        box.withLock { $0 = defaults }
        defaults.launchCount = 1
        program.link.leave()
        defaults.launchCount += 1
        let other = world.program()
        other.defaults.launchCount = 10
        program.link.comeBack()
        try await defaults.synchronize()
        #expect(world["issue of launchCount"] == "precondition_failed")
        // While a setter of the very key waits behind others, of which many are refused.
        let next = world.program { issue in
            if issue.attempt == .write { box.withLock({ $0 })?.launchCount = 77 }
        }
        box.withLock { $0 = next.defaults }
        #expect(next.defaults.launchCount == 10)
        next.link.leave()
        for _ in 0..<20 { next.defaults.launchCount += 1 }
        #expect(next.defaults.launchCount == 30)
        other.defaults.launchCount = 8
        next.link.comeBack()
        for _ in 0..<20 { next.defaults.launchCount += 1 }
        try await next.defaults.synchronize()
        #expect(world.takeIssues().count >= 20)
        box.withLock { $0 = nil }
    }

    @Test("An adapter that goes while something waits leaves no attempt behind")
    func goingAway() throws {
        var program: KeptWorld.Program? = world.program(isAway: true)
        program?.defaults.launchCount = 1
        #expect(world.end(&program))
        #expect(world.waiting.count == 1)
    }

    @Test("What a program has that is still there when another begins is taken over when it has gone")
    func lookingAgain() throws {
        var first: KeptWorld.Program? = world.program(isAway: true)
        first?.defaults.launchCount = 1
        let second = world.program(lookInterval: .milliseconds(1))
        second.defaults.loginTries = 5
        #expect(second.defaults.launchCount == 0)
        #expect(world.end(&first))
        // Its own write and that of the other.
        #expect(second.link.log.wait { $0.count == 2 })
        #expect(world["launchCount"] == 1 && world["loginTries"] == 5)
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
