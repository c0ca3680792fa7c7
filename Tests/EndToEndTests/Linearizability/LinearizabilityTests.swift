import SettingsAPI
import SettingsCluster
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Concurrent calls are linearizable: each call takes effect at one moment between its sending and its answer, as if
/// the daemon executed one call at a time.
@Suite(.ownThread, .serialized)
struct LinearizabilityTests {
    private static let clients = 8

    /// Runs concurrent clients with random calls and checks their history.
    private func check(
        _ settings: TestedSettings, seed: UInt64, mix: Workload.CallMix, calls: Int, pipelineDepth: Int = 1
    ) async throws -> HistoryCheck {
        // The default number of event loops.
        let daemon = try TestDaemon { $0.loops = nil }
        let port = daemon.port
        let initial = try settings.prepare(daemon.connect())
        let history = try await ConcurrentClients.run(Self.clients) { number in
            let workload = Workload(client: number, seed: seed, settings: settings, mix: mix)
            let client = HistoryClient(number, workload, settings: settings) { try RawClient(port: port) }
            return pipelineDepth > 1 ? try client.runPipelined(calls, depth: pipelineDepth) : try client.run(calls)
        }
        daemon.stop()
        #expect(history.count >= Self.clients * calls)
        let commits = try JournaledCommits(directory: daemon.directory.path)
        return HistoryCheck(history, try settings.timeline(commits, from: initial), isPipelined: pipelineDepth > 1)
    }

    @Test("Calls on single settings are linearizable", arguments: [1, 2] as [UInt64])
    func single(seed: UInt64) async throws {
        let check = try await check(TestedSettings(count: 3), seed: seed, mix: .singleSettings, calls: 150)
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
    }

    @Test(
        "Transactions and reads of complete suites are linearizable together with all other calls",
        arguments: [4, 5] as [UInt64])
    func connected(seed: UInt64) async throws {
        let check = try await check(TestedSettings(count: 6), seed: seed, mix: .allCalls, calls: 150)
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
    }

    @Test("Calls to daemons that share a log in etcd are linearizable if reads have Settings-Fresh")
    func shared() async throws {
        let (settings, seed, calls) = (TestedSettings(count: 6), 21 as UInt64, 60)
        let etcd = try EtcdCluster()
        let daemons = try (0..<3).map { _ in
            try TestDaemon { $0.etcd.endpoints = etcd.endpoints.compactMap { EtcdEndpoint($0) } }
        }
        let ports = daemons.map(\.port)
        let initial = try settings.prepare(daemons[0].connect())
        let history = try await ConcurrentClients.run(Self.clients) { number in
            let workload = Workload(client: number, seed: seed, settings: settings, mix: .allCalls)
            let client = HistoryClient(number, workload, settings: settings, requestsFreshReads: true) {
                try RawClient(port: ports[number % ports.count])
            }
            return try client.run(calls)
        }
        let backup = try daemons[0].sendOK(Request("GET /v1/backup", "Settings-Fresh: true"))
        let entries = try #require(try JSONValue(parsing: backup.body)["history"]?.array)
        // Each entry has the size in memory of a commit, and the commit.
        let commits = try entries.map { try Commit(json: try #require($0.array?.last)) }
        let epoch = try #require(backup.field("Settings-Cursor").flatMap { Cursor($0)?.epoch })
        let check = HistoryCheck(
            history, try settings.timeline(JournaledCommits(epoch: epoch, commits), from: initial))
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
    }

    @Test(
        "Pipelined requests of a connection take effect and are answered in order",
        arguments: [7, 8] as [UInt64])
    func pipelined(seed: UInt64) async throws {
        let check = try await check(TestedSettings(count: 4), seed: seed, mix: .allCalls, calls: 150, pipelineDepth: 12)
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
    }
}

/// Calls to a daemon that is killed and restarted with the same data. The clients repeat writes with an idempotency
/// key.
@Suite(.ownThread, .serialized)
struct LinearizabilityAcrossKillsTests {
    private static let clients = 8

    @Test(
        "Calls are linearizable across kills and restarts, and a repeated write takes effect once",
        arguments: [11, 12] as [UInt64])
    func kills(seed: UInt64) async throws {
        let settings = TestedSettings(count: 6)
        let daemon = try DaemonLives(kills: 6, answersBetweenKills: 120)
        let initial = try settings.prepare(daemon.connect())
        let history = try await ConcurrentClients.run(Self.clients) { number in
            let workload = Workload(client: number, seed: seed, settings: settings, mix: .allCalls)
            let client = HistoryClient(
                number, workload, settings: settings, usesRequestKeys: true, connect: { try daemon.connect() })
            client.onAnswer = daemon.countAnswer
            return try client.run(120)
        }
        // The clients sent 960 calls and got an answer to at least 6 times 120 calls.
        #expect(daemon.killCount == 6)
        let last = try Self.read(0..<settings.count, of: settings, daemon)
        let check = HistoryCheck(history + last, try settings.timeline(daemon.stop(), from: initial))
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
    }

    @Test("A write repeated after a kill returns its first answer and does not take effect again")
    func repeated() throws {
        let settings = TestedSettings(count: 1)
        let daemon = try DaemonLives()
        let initial = try settings.prepare(daemon.connect())
        let add = Call.Request.write(if: [], [.init(setting: 0, action: .add(1))])
        let request = CallEncoder(settings: settings).request(add, requestKey: "once")
        var answers: [JSONValue] = []
        for _ in 0..<3 {
            answers.append(try #require(try daemon.connect().ask(request).json))
            try daemon.killAndRestart()
        }
        #expect(answers.map { $0["replayed"] } == [nil, true, true])
        #expect(answers.allSatisfy { $0["value"] == 1 && $0["revision"] == answers[0]["revision"] })
        #expect(answers.allSatisfy { $0["previous"]?["revision"]?.integer == initial.settingValues[0].revision })
        let last = try Self.read(0..<1, of: settings, daemon)
        #expect(last[0].shownSettings.first?.value == 1)
    }

    /// Reads settings one after another, as calls of an additional client.
    private static func read(
        _ range: Range<Int>, of settings: TestedSettings, _ daemon: DaemonLives
    ) throws -> [Call] {
        let peer = try daemon.connect()
        return try range.map { setting in
            var call = Call(client: clients, invoked: HistoryClient.now, request: .read([setting]))
            let request = CallEncoder(settings: settings).request(call.request)
            let answer = try CallAnswer(peer.ask(request), to: call.request, about: settings)
            call.answered = HistoryClient.now
            call.outcome = answer.outcome
            call.cursor = answer.cursor.revision.number
            return call
        }
    }
}
