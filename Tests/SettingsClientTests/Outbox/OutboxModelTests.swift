import Glibc
import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Random writes of programs whose server is unreachable for a time, compared with a model of the stored values. `link`
/// is the connection of a program to the server, and `fixture.stored(KEY)` is the value on the server.
///
/// To repeat a failure, set FUZZ_SEED to the seed in its message and FUZZ_ITERATIONS to 1.
@Suite(.ownThread)
struct OutboxModelTests {
    /// The expected values of the keys that only one program writes.
    private struct Model: Equatable {
        var launchCount: Int?
        var username: String?
        var libraries: [String]?
        var nickname: String?
        var log: [JSONValue]?
    }

    /// Returns a function that decides the result of each request at random. Half of the requests are answered.
    private static func fates(_ seed: UInt64) -> @Sendable () -> FlakyBackend.Fate {
        let generator = Mutex(SeededGenerator(seed: seed))
        return {
            switch generator.withLock({ $0.below(8) }) {
            case 0: .notSent
            case 1, 2: .answerLost
            case 3: .refused(Problem(.insufficientStorage, "not now"))
            default: .answered
            }
        }
    }

    @Test("Writes that wait in the outbox are done exactly once and in order")
    func exactlyOnce() async throws {
        for generator in FuzzBudget.generators(roundsFactor: 0.01) { try await exactlyOnce(generator) }
    }

    private func exactlyOnce(_ seeded: SeededGenerator) async throws {
        var random = seeded
        let fixture = try OutboxFixture()
        let other = fixture.program()
        var program: OutboxFixture.Program? = fixture.program()
        var model = Model()
        // The defaults of these keys in `ClientKeys`.
        var (visits, tags, recent) = (0, Set<String>(), ["start"])
        // If both programs write, no program removes all values, and `other` writes only keys with a merge rule.
        let hasSingleProgram = random.chance(oneIn: 2)
        for step in 0..<60 {
            let comment: Comment = "seed \(seeded.seed), step \(step)"
            if random.chance(oneIn: 16) {
                #expect(fixture.end(&program), comment)
                program = fixture.program(isServerUnreachable: random.chance(oneIn: 2))
                program?.link.setFate(Self.fates(random.next()))
            }
            let current = try #require(program)
            let defaults = current.defaults
            switch random.below(16) {
            case 0, 1, 2: current.link.disconnect()
            case 3: current.link.reconnect()
            case 4:
                current.link.reconnect()
                current.link.setFate(Self.fates(random.next()))
            case 5: current.link.setFate { .answered }
            case 6 where !hasSingleProgram:
                other.defaults.visits += 1000
                other.defaults.tags.insert("other \(step)")
                // The position of this element is not known, so the comparison with `recent` at the end omits the
                // element.
                other.defaults.recent.append("other \(step)")
                visits += 1000
                tags.insert("other \(step)")
            case 6:
                defaults.removeAll()
                if isDone(fixture, comment) {
                    model = Model()
                    (visits, tags, recent) = (0, [], ["start"])
                }
            case 7:
                defaults.launchCount = step
                if isDone(fixture, comment) { model.launchCount = step }
            case 8 where isKnown("launchCount", in: defaults):
                defaults.launchCount += 1
                if isDone(fixture, comment) { model.launchCount = (model.launchCount ?? 0) + 1 }
            case 9:
                defaults.username = random.chance(oneIn: 2) ? "step \(step)" : nil
                if isDone(fixture, comment) { model.username = defaults.username }
            case 10 where isKnown("libraries", in: defaults):
                defaults[\.libraries].append("step \(step)")
                if isDone(fixture, comment) { model.libraries = (model.libraries ?? []) + ["step \(step)"] }
            case 11:
                defaults["log"] += [.integer(Int64(step))]
                if isDone(fixture, comment) { model.log = (model.log ?? []) + [.integer(Int64(step))] }
            case 12:
                defaults.visits += 1
                if isDone(fixture, comment) { visits += 1 }
                defaults.recent.append("step \(step)")
                if isDone(fixture, comment) { recent.append("step \(step)") }
            case 13:
                defaults.tags.insert("step \(step)")
                if isDone(fixture, comment) { tags.insert("step \(step)") }
            case 14:
                let nicknameBefore = model.nickname
                defaults[\.nickname] ?= "step \(step)"
                if isDone(fixture, comment), nicknameBefore == nil { model.nickname = "step \(step)" }
            default:
                do {
                    try await defaults.transaction { transaction in
                        transaction[\.launchCount] += 10
                        transaction[\.username] = "count \(transaction[\.launchCount])"
                    }
                    model.launchCount = (model.launchCount ?? 0) + 10
                    model.username = "count \(model.launchCount ?? 0)"
                } catch DefaultsError.kept {
                    model.launchCount = (model.launchCount ?? 0) + 10
                    model.username = "count \(model.launchCount ?? 0)"
                } catch DefaultsError.unreachable {
                    // The transaction could not read the values, so it wrote nothing.
                }
            }
        }
        let comment: Comment = "seed \(seeded.seed)"
        _ = isDone(fixture, comment)
        let last = try #require(program)
        last.link.reconnect()
        last.link.setFate { .answered }
        try await last.defaults.synchronize()
        #expect(fixture.fileCount == 0, comment)
        _ = isDone(fixture, comment)
        let stored = Model(
            launchCount: fixture.stored("launchCount")?.integer.map(Int.init),
            username: fixture.stored("username")?.string,
            libraries: fixture.stored("libraries")?.array?.compactMap(\.string),
            nickname: fixture.stored("nickname")?.string,
            log: fixture.stored("log")?.array)
        #expect(stored == model, comment)
        let defaults = last.defaults
        #expect(defaults.launchCount == model.launchCount ?? 0 && defaults.username == model.username, comment)
        #expect(defaults.libraries == model.libraries ?? [] && defaults["log"].array == model.log, comment)
        // The default of `nickname` is "anonymous".
        #expect(defaults.nickname == model.nickname ?? "anonymous", comment)
        #expect(defaults.visits == visits && defaults.tags == tags, comment)
        #expect(defaults.recent.filter { !$0.hasPrefix("other") } == recent, comment)
        #expect(Set(defaults.recent).count == defaults.recent.count, comment)
    }

    /// Returns true if the client knows the value of the key. A change in place of an unknown value starts from the
    /// default, and causes a conflict later if another value is stored.
    private func isKnown(_ name: String, in defaults: DefaultsAdapter<ClientKeys>) -> Bool {
        _ = defaults[name].value
        guard let key = try? KeyName(name) else { return false }
        return defaults.core.session.isLoaded || defaults.core.session.isKnown(key)
    }

    /// Drains the issues, and records a failure of the test for each unexpected issue. Returns true if the setter
    /// before this call has written its value or stored the write in the outbox file.
    private func isDone(_ fixture: OutboxFixture, _ comment: Comment) -> Bool {
        var isDone = true
        for issue in fixture.drainIssues() {
            switch (issue.attempt, issue.error) {
            // The write is not in the outbox file. If the program ends before the daemon has answered the
            // write, the write is lost.
            case (.write, .unreachable), (.write, .unusableFile): isDone = false
            // The server does not accept writes for now, or is unreachable.
            case (.write, .kept), (.read, .unreachable): break
            default: Testing.Issue.record("\(comment): \(issue)")
            }
        }
        return isDone
    }

    @Test("A crash after any call of the file system loses no accepted write and repeats no write")
    func everyStep() async throws {
        var calls = 0
        while try await reachesFailure(afterCalls: calls) { calls += 1 }
        #expect(calls > 30, "the program made enough calls for a useful test")
    }

    /// Runs a program that writes during an outage and meets a conflict. After `count` calls of the file system, all
    /// calls and all requests fail. Returns false if the program made no further call.
    private func reachesFailure(afterCalls count: Int) async throws -> Bool {
        let fixture = try OutboxFixture()
        let comment: Comment = "after \(count) calls"
        let other = fixture.program()
        other.defaults.visits = 100
        var program: OutboxFixture.Program? = fixture.program()
        #expect(program?.defaults.visits == 100)
        program?.link.disconnect()
        let callsLeft = Mutex(count)
        fixture.files.fail { _, _ in
            callsLeft.withLock { left in
                left -= 1
                return left < 0 ? EIO : nil
            }
        }
        program?.link.setFate { callsLeft.withLock { $0 } < 0 ? .notSent : .answered }
        // The numbers of increments that were done or kept, and of increments that may be lost.
        var (accepted, doubtful) = (0, 0)
        var logged: [Int64] = []
        for number in 1...4 as ClosedRange<Int64> {
            program?.defaults.visits += 1
            if isDone(fixture, comment) { accepted += 1 } else { doubtful += 1 }
            program?.defaults["log"] += [.integer(number)]
            if isDone(fixture, comment) { logged.append(number) }
        }
        // The increments of the program are added to this value.
        other.defaults.visits = 1000
        program?.link.reconnect()
        _ = try? await program?.defaults.synchronize()
        #expect(fixture.end(&program), comment)
        fixture.files.repair()
        let next = fixture.program()
        try await next.defaults.synchronize()
        _ = isDone(fixture, comment)
        #expect((accepted...(accepted + doubtful)).contains(next.defaults.visits - 1000), comment)
        let log = (fixture.stored("log")?.array ?? []).compactMap(\.integer)
        #expect(log.filter { logged.contains($0) } == logged && Set(log).count == log.count, comment)
        #expect(fixture.stored("visits")?.integer == Int64(next.defaults.visits) && fixture.fileCount == 0, comment)
        return callsLeft.withLock { $0 } < 0
    }

    @Test("With disk errors and crashes, accepted writes are done once and in order")
    func faults() async throws {
        for generator in FuzzBudget.generators(roundsFactor: 0.01) { try await faults(generator) }
    }

    private func faults(_ seeded: SeededGenerator) async throws {
        var random = seeded
        let fixture = try OutboxFixture()
        // The numbers whose writes were done or kept, and the numbers whose writes may be lost.
        var accepted: [Int64] = []
        var doubtful: Set<Int64> = []
        var number: Int64 = 0
        for _ in 0..<12 {
            var program: OutboxFixture.Program? = fixture.program(isServerUnreachable: random.chance(oneIn: 3))
            let fates = Self.fates(random.next())
            // After this number of calls that change files, all such calls fail and no request gets an answer until the
            // program has ended.
            let callsLeft = Mutex(random.below(60))
            let faultGenerator = Mutex(SeededGenerator(seed: random.next()))
            let hasRandomFaults = random.chance(oneIn: 2)
            fixture.files.fail { call, _ in
                guard [.makeDirectory, .write, .truncate, .syncData, .syncDirectory, .rename, .remove].contains(call)
                else { return nil }
                let isExhausted = callsLeft.withLock { left in
                    left -= 1
                    return left < 0
                }
                return isExhausted || hasRandomFaults && faultGenerator.withLock({ $0.chance(oneIn: 5) }) ? ENOSPC : nil
            }
            program?.link.setFate {
                guard callsLeft.withLock({ $0 < 0 }) else { return fates() }
                return faultGenerator.withLock({ $0.chance(oneIn: 2) }) ? .notSent : .answerLost
            }
            for _ in 0..<random.below(12) {
                number += 1
                program?.defaults["log"] += [.integer(number)]
                if isDone(fixture, "seed \(seeded.seed)") { accepted.append(number) } else { doubtful.insert(number) }
                if random.chance(oneIn: 4) { program?.link.disconnect() }
                if random.chance(oneIn: 3) { program?.link.reconnect() }
            }
            #expect(fixture.end(&program))
            fixture.files.repair()
        }
        let last = fixture.program()
        try await last.defaults.synchronize()
        let log = (fixture.stored("log")?.array ?? []).compactMap(\.integer)
        let comment: Comment = "seed \(seeded.seed)"
        #expect(Set(log).count == log.count, comment)
        #expect(log.filter { !doubtful.contains($0) } == accepted, comment)
        #expect(last.defaults["log"].array == fixture.stored("log")?.array, comment)
        #expect(fixture.fileCount == 0, comment)
    }
}
