import SettingsAPI
import SettingsModel
import SettingsServer
import TestSupport
import Testing

@Suite(.ownThread, .serialized)
struct LinearizabilityTests {
    private static let clients = 8

    /// What is wrong with what clients saw.
    private func check(
        _ settings: TestedSettings, seed: UInt64, breadth: Workload.Breadth, calls: Int, depth: Int = 1
    ) async throws -> HistoryCheck {
        // As many loops as an operator has.
        let daemon = try TestDaemon { $0.loops = nil }
        let port = daemon.port
        let initial = try settings.prepare(daemon.connect())
        let history = try await ConcurrentClients.run(Self.clients) { number in
            let workload = Workload(client: number, seed: seed, settings: settings, breadth: breadth)
            let client = HistoryClient(number, workload, settings: settings) { try RawClient(port: port) }
            return depth > 1 ? try client.runPipelined(calls, depth: depth) : try client.run(calls)
        }
        daemon.stop()
        #expect(history.count >= Self.clients * calls)
        let commits = try JournaledCommits(directory: daemon.directory.path)
        return HistoryCheck(history, try settings.timeline(commits, from: initial), isPipelined: depth > 1)
    }

    @Test("calls about single settings are linearizable for each setting", arguments: [1, 2] as [UInt64])
    func single(seed: UInt64) async throws {
        let check = try await check(TestedSettings(count: 3), seed: seed, breadth: .single, calls: 150)
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
    }

    @Test("transactions and whole suites are linearizable together with all else", arguments: [4, 5] as [UInt64])
    func connected(seed: UInt64) async throws {
        let check = try await check(TestedSettings(count: 6), seed: seed, breadth: .connected, calls: 150)
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
    }

    @Test(
        "requests that a connection sends without waiting take effect, and are answered, in their order",
        arguments: [7, 8] as [UInt64])
    func pipelined(seed: UInt64) async throws {
        let check = try await check(TestedSettings(count: 4), seed: seed, breadth: .connected, calls: 150, depth: 12)
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
    }
}

@Suite(.ownThread, .serialized)
struct LinearizabilityAcrossKillsTests {
    private static let clients = 8

    @Test(
        "what clients see is linearizable across kills and restarts, and a repeated write is made once",
        arguments: [11, 12] as [UInt64])
    func kills(seed: UInt64) async throws {
        let settings = TestedSettings(count: 6)
        let daemon = try DaemonLives(kills: 6, period: 120)
        let initial = try settings.prepare(daemon.connect())
        let history = try await ConcurrentClients.run(Self.clients) { number in
            let workload = Workload(client: number, seed: seed, settings: settings, breadth: .connected)
            let client = HistoryClient(number, workload, settings: settings, namesWrites: true, connect: daemon.connect)
            client.answered = daemon.countAnswer
            return try client.run(120)
        }
        #expect(daemon.killCount == 6)
        let last = try Self.read(0..<settings.count, of: settings, daemon)
        let check = HistoryCheck(history + last, try settings.timeline(daemon.finish(), from: initial))
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
    }

    @Test("a write repeated after a kill gets its first answer and is not made again")
    func repeated() throws {
        let settings = TestedSettings(count: 1)
        let daemon = try DaemonLives()
        let initial = try settings.prepare(daemon.connect())
        let add = Call.Request.write(if: [], [.init(setting: 0, action: .add(1))])
        let request = CallForm(settings: settings).request(add, requestKey: "once")
        var answers: [JSONValue] = []
        for _ in 0..<3 {
            answers.append(try #require(try daemon.connect().ask(request).json))
            try daemon.killAndRestart()
        }
        #expect(answers.map { $0["replayed"] } == [nil, true, true])
        #expect(answers.allSatisfy { $0["value"] == 1 && $0["revision"] == answers[0]["revision"] })
        #expect(answers.allSatisfy { $0["previous"]?["revision"]?.integer == initial.standings[0].revision })
        let last = try Self.read(0..<1, of: settings, daemon)
        #expect(last[0].sights.first?.value == 1)
    }

    /// Reads settings one after the other, as calls of a client of their own.
    private static func read(
        _ range: Range<Int>, of settings: TestedSettings, _ daemon: DaemonLives
    ) throws -> [Call] {
        let peer = try daemon.connect()
        return try range.map { setting in
            var call = Call(client: clients, invoked: HistoryClient.now, request: .read([setting]))
            let request = CallForm(settings: settings).request(call.request)
            let answer = try CallAnswer(peer.ask(request), to: call.request, about: settings)
            call.answered = HistoryClient.now
            call.outcome = answer.outcome
            call.cursor = answer.cursor.revision.number
            return call
        }
    }
}
