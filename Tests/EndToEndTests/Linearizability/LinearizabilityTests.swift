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
        return HistoryCheck(history, from: initial, isPipelined: depth > 1)
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
