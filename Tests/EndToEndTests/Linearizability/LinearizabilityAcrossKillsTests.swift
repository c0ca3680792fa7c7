import SettingsAPI
import SettingsModel
import TestSupport
import Testing

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
        let check = HistoryCheck(history, from: initial)
        #expect(check.violations.isEmpty, "seed \(seed): \(check.summary)")
        #expect(daemon.killCount == 6)
        let last = try Self.read(0..<settings.count, of: settings, daemon)
        let complete = HistoryCheck(history + last, from: initial)
        #expect(complete.violations.isEmpty, "seed \(seed), after all: \(complete.summary)")
    }

    @Test("a write repeated after a kill gets its first answer and is not made again")
    func repeated() throws {
        let settings = TestedSettings(count: 1)
        let daemon = try DaemonLives()
        let initial = try settings.prepare(daemon.connect())
        let add = Call.Request.write(if: [], [.init(setting: 0, action: .add(1))])
        let bytes = CallForm(settings: settings).bytes(add, requestKey: "once")
        var answers: [JSONValue] = []
        for _ in 0..<3 {
            let peer = try daemon.connect()
            try peer.send(bytes)
            answers.append(try JSONValue(parsing: peer.readResponse().body))
            try daemon.killAndRestart()
        }
        #expect(answers.map { $0["replayed"] } == [nil, true, true])
        #expect(answers.allSatisfy { $0["value"] == 1 && $0["revision"] == answers[0]["revision"] })
        #expect(answers.allSatisfy { $0["previous"]?["revision"]?.integer == initial.standings[0].revision })
        let last = try Self.read(0..<1, of: settings, daemon)
        #expect(last[0].sights.first?.value == 1)
    }

    /// Reads settings one after the other, as calls of a client that nobody else is.
    private static func read(
        _ range: Range<Int>, of settings: TestedSettings, _ daemon: DaemonLives
    ) throws -> [Call] {
        let peer = try daemon.connect()
        return try range.map { setting in
            var call = Call(client: clients, invoked: HistoryClient.now, request: .read([setting]))
            try peer.send(CallForm(settings: settings).bytes(call.request))
            let answer = try CallAnswer(peer.readResponse(), to: call.request, about: settings)
            call.answered = HistoryClient.now
            call.outcome = answer.outcome
            call.cursor = answer.cursor.revision.number
            return call
        }
    }
}
