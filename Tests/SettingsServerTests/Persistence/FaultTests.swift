import Glibc
import SettingsModel
import Testing

@testable import SettingsServer

/// Each call to the file system goes wrong in turn, in each way, and then the power goes.
@Suite("Persistence: each call fails in turn")
struct FaultTests {
    static let faults: [SimulatedDisk.Fault] = [.error(EIO), .error(ENOSPC), .shortWrite, .powerLoss]

    /// Runs with a fault at each call in turn, and hands over what is then found.
    private func sweep(
        _ setup: LogHarness.Setup, seed: UInt64, _ survival: SimulatedDisk.Survival,
        _ check: (LogHarness, String) throws -> Void
    ) throws {
        let dry = try LogHarness(SimulatedDisk(), setup, seed: seed)
        try dry.run()
        #expect(dry.isStopped)
        for fault in Self.faults {
            for call in 0..<dry.disk.calls {
                let harness = try LogHarness(SimulatedDisk(), setup, seed: seed)
                harness.disk.plan(fault, at: call)
                try harness.run()
                harness.crash(survival, seed: seed &+ UInt64(call))
                let title = "seed \(seed), \(fault) at call \(call), \(survival)"
                do {
                    try harness.open()
                } catch {
                    Issue.record("\(title): \(error)")
                    continue
                }
                try check(harness, title)
            }
        }
    }

    @Test(
        "with durability always, every acknowledged commit is there, and nothing by halves",
        arguments: SimulatedDisk.Survival.allCases)
    func always(_ survival: SimulatedDisk.Survival) throws {
        for seed in seeds {
            try sweep(LogHarness.Setup(), seed: seed, survival) { harness, title in
                let found = try #require(harness.last)
                let before = harness.published.dropLast().last.map { StateDescription($0) }
                let isExpected =
                    before == nil || found == before || harness.possible.contains { StateDescription($0) == found }
                #expect(isExpected, "\(title)\nexpected\n\(before?.description ?? "nothing")\nfound\n\(found)")
                if before != nil { #expect(harness.recovered?.beganEpoch == false, "\(title)") }
                try goOn(harness, title)
            }
        }
    }

    @Test(
        "with the others, what is there is what was once acknowledged, in a new epoch unless the stop was clean",
        arguments: [Configuration.Durability.interval, .snapshot], SimulatedDisk.Survival.allCases)
    func mayLose(_ durability: Configuration.Durability, _ survival: SimulatedDisk.Survival) throws {
        for seed in seeds {
            let setup = LogHarness.Setup(durability: durability)
            try sweep(setup, seed: seed, survival) { harness, title in
                guard let recovered = harness.recovered, let found = harness.last else { return }
                let earlier = harness.acknowledged.dropLast() + harness.possible
                guard let before = harness.published.dropLast().last.map({ StateDescription($0) }) else { return }
                #expect(
                    earlier.reversed().contains { StateDescription($0).content == found.content },
                    "\(title)\nfound\n\(found)\nbefore\n\(before)")
                if recovered.beganEpoch {
                    #expect(found.place[0] != before.place[0], "\(title)")
                } else {
                    #expect(found == before, "\(title)\nexpected\n\(before)\nfound\n\(found)")
                }
                try goOn(harness, title)
            }
        }
    }

    /// After a recovery the log works as if nothing had happened.
    private func goOn(_ harness: LogHarness, _ title: String) throws {
        for _ in 0..<3 { try harness.step() }
        let before = harness.last
        harness.crash(.everything, seed: 0)
        do {
            try harness.open()
        } catch {
            Issue.record("\(title), then: \(error)")
            return
        }
        let found = harness.last
        if harness.recovered?.beganEpoch == false { #expect(found == before, "\(title), then") }
    }

    private var seeds: ClosedRange<UInt64> { 1...1 }
}
