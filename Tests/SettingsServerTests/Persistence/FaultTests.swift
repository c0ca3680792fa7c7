import Glibc
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// Makes each call of the file system fail with each kind of fault. Then simulates a crash or a power loss, and starts
/// again. A `LogHarness` writes to a log on a simulated disk, and records which commits the log acknowledged.
@Suite(.ownThread)
struct FaultTests {
    static let faults: [SimulatedDisk.Fault] = [.error(EIO), .errorsFromHere(ENOSPC), .shortWrite, .powerLoss]

    /// The options of a run.
    struct Case: CustomTestStringConvertible, Sendable {
        var durability: Durability
        var seed: UInt64
        /// True for a history of two commits. The history may then evict commits that are not certainly on disk, so
        /// that the log must write a snapshot instead of a new journal.
        var hasShortHistory = false
        /// True to keep past files, which contain the commits that the history in memory has evicted.
        var keepsPastFiles = false

        var testDescription: String {
            "\(durability.rawValue)\(hasShortHistory ? ", short history" : "")\(keepsPastFiles ? ", past files" : ""), seed \(seed)"
        }

        var setup: LogHarness.Setup {
            var setup = LogHarness.Setup(durability: durability)
            if hasShortHistory { setup.history.commits = 2 }
            if keepsPastFiles {
                // The log keeps past files if there is a maximum age. No commit reaches this age in milliseconds.
                (setup.history.commits, setup.history.suiteCommits, setup.history.age) = (4, 1, 1 << 50)
                setup.batchCount = 8
            }
            return setup
        }
    }

    /// Alternates between the kinds of data that a simulated crash leaves on the disk, so that the runs test each kind.
    private static func survival(_ number: Int) -> SimulatedDisk.Survival {
        SimulatedDisk.Survival.allCases[number % SimulatedDisk.Survival.allCases.count]
    }

    static let cases: [Case] = [
        Case(durability: .always, seed: 1), Case(durability: .always, seed: 2, hasShortHistory: true),
        Case(durability: .interval, seed: 3), Case(durability: .interval, seed: 4, hasShortHistory: true),
        Case(durability: .snapshot, seed: 5), Case(durability: .always, seed: 6, keepsPastFiles: true),
        Case(durability: .interval, seed: 7, keepsPastFiles: true),
    ]

    /// Runs the case with each fault at each call of the file system, or with a part of these combinations if
    /// `FUZZ_ITERATIONS` is at most 500. With past files, whose comparison is slow, a call gets only every second
    /// fault. If `closes` is true, a run ends with a clean stop, unless the disk fails. After each run, calls `check`
    /// with a title for messages, and with the data that the simulated crash must leave on the disk.
    private func runWithEachFault(
        _ run: Case, _ faults: [SimulatedDisk.Fault] = Self.faults, closes: Bool = true,
        _ check: (LogHarness, String, SimulatedDisk.Survival) throws -> Void
    ) throws {
        let faultless = try LogHarness(SimulatedDisk(), run.setup, seed: run.seed)
        try faultless.run()
        #expect(faultless.isStopped)
        #expect(!run.keepsPastFiles || faultless.disk.names.contains { $0.hasPrefix("past-") })
        for (number, fault) in faults.enumerated() {
            for call in 0..<faultless.disk.calls {
                let combination = call + number + Int(run.seed)
                guard !run.keepsPastFiles || combination.isMultiple(of: 2),
                    FuzzBudget.includes(case: run.keepsPastFiles ? combination / 2 : combination)
                else { continue }
                let harness = try LogHarness(SimulatedDisk(), run.setup, seed: run.seed)
                harness.disk.plan(fault, at: call)
                try harness.run(closes: closes)
                let survival = Self.survival(call + number)
                try check(harness, "\(run.testDescription), \(fault) at call \(call), \(survival)", survival)
            }
        }
    }

    @Test(
        "Acknowledged writes survive a crash as the durability promises, and each commit survives entirely or not at all",
        arguments: cases)
    func crash(_ run: Case) throws {
        try runWithEachFault(run) { harness, title, survival in
            try crashAndCompare(harness, survival, title, promised: run.durability)
            for _ in 0..<2 { try harness.writeBatch() }
            try crashAndCompare(harness, .everything, title + ", then", promised: run.durability)
            try harness.writeBatch()
            // A start must not rely on data that only the page cache had: repeat the crash and compare again.
            try crashAndCompare(harness, .syncedOnly, title + ", then again", promised: run.durability)
        }
    }

    @Test("After a fault ends, writes succeed again, and the next start loses nothing", arguments: cases)
    func heals(_ run: Case) throws {
        var checkedRuns = 0
        try runWithEachFault(run, Self.faults.filter { $0 != .powerLoss }, closes: false) { harness, title, _ in
            // The start of the log has failed.
            guard harness.log != nil else { return }
            checkedRuns += 1
            #expect(
                try harness.acceptsWriteAfterHealing(),
                "\(title): \(harness.log?.writeFailureReason ?? "healthy, but the write failed")")
            try harness.close()
            let before = try #require(harness.newestState)
            harness.crash(.syncedOnly)
            try harness.open()
            #expect(harness.newestState.map(StateDescription.init) == StateDescription(before), "\(title)")
            #expect(harness.recovered?.beganEpoch == false, "\(title)")
        }
        #expect(checkedRuns > 0)
    }

    @Test(
        "A start that fails at any call can be repeated with the same result",
        arguments: Durability.allCases)
    func startAgain(_ durability: Durability) throws {
        func crashedHarness() throws -> LogHarness {
            let setup = LogHarness.Setup(durability: durability, journalBytes: 900)
            let harness = try LogHarness(SimulatedDisk(), setup, seed: 9)
            try harness.run(closes: false)
            // Syncs the journal with durability `interval`. Otherwise a power loss during the next start could lose
            // data.
            harness.performMaintenance(after: .nanoseconds(1_000))
            harness.crash(.everything)
            // The start cuts an incomplete line and zeros at the end of a journal, which a crash may leave.
            if let journal = harness.disk.names.last(where: { $0.hasPrefix("journal-") }) {
                let content = harness.disk.content(journal) ?? []
                let incompleteLine = content.prefix(20)
                harness.disk.put(journal, content + incompleteLine + [UInt8](repeating: 0, count: 99))
            }
            return harness
        }
        let faultless = try crashedHarness()
        let firstCallOfStart = faultless.disk.calls
        try faultless.open()
        let expected = try #require(faultless.newestState)
        for (number, fault) in Self.faults.enumerated() {
            for call in firstCallOfStart..<faultless.disk.calls where FuzzBudget.includes(case: call + number) {
                let title = "seed 9, \(durability.rawValue), \(fault) at call \(call)"
                let harness = try crashedHarness()
                harness.disk.plan(fault, at: call)
                do { try harness.open() } catch {}
                harness.crash(Self.survival(call + number), seed: UInt64(call))
                do {
                    try harness.open()
                } catch {
                    Issue.record("\(title): \(error)")
                    continue
                }
                let found = try #require(harness.newestState)
                #expect(StateDescription(found).content == StateDescription(expected).content, "\(title)")
                #expect(harness.recovered?.beganEpoch == (durability != .always), "\(title)")
                #expect(found.revision >= expected.revision, "\(title): \(found.cursor)")
            }
        }
    }

    @Test("A start after a failed sync ignores unsynced data or makes it durable")
    func failedSync() throws {
        let setup = LogHarness.Setup()
        let faultless = try LogHarness(SimulatedDisk(), setup, seed: 6)
        try faultless.run()
        var unknownOutcomeCount = 0
        for call in 0..<faultless.disk.calls {
            let harness = try LogHarness(SimulatedDisk(), setup, seed: 6)
            harness.disk.plan(.error(EIO), at: call)
            try harness.run(endsWhenUnknown: true)
            guard !harness.statesWithUnknownOutcome.isEmpty else { continue }
            unknownOutcomeCount += 1
            let title = "seed 6, call \(call)"
            try crashAndCompare(harness, .everything, title, promised: .always)
            try crashAndCompare(harness, .syncedOnly, title + ", then", promised: .always)
        }
        #expect(unknownOutcomeCount > 3)
    }

    /// Expects that reading the past at the revision of an acknowledged state returns this state or a refusal, but no
    /// other state.
    private func expectPastStates(_ harness: LogHarness, _ acknowledged: [State], _ title: String) throws {
        let view = PastView(try #require(harness.log?.pastFiles), try #require(harness.newestState))
        for state in acknowledged {
            for name in harness.setup.suites {
                let suite = try SuiteName(name)
                let known = state.suite(suite)
                do throws(Problem) {
                    let found = try view.suite(suite, at: state.revision)
                    #expect(found?.revision == known?.revision, "\(title), \(suite) at \(state.revision)")
                    let keys = (known?.records.elements ?? []) + (found?.records.elements ?? [])
                    for key in keys.map(\.key) {
                        let (knownRecord, foundRecord) = (known?.record(key), found?.record(key))
                        #expect(
                            knownRecord?.stored == foundRecord?.stored,
                            "\(title), \(key) of \(suite) at \(state.revision)")
                    }
                } catch {
                    // `overloaded`: the commits after the state are neither in memory nor in a past file yet.
                    #expect(error.code == .historyGone || error.code == .overloaded, "\(title): \(error)")
                }
            }
        }
    }

    /// Simulates a crash, starts again, and compares the result with the promised durability.
    private func crashAndCompare(
        _ harness: LogHarness, _ survival: SimulatedDisk.Survival, _ title: String,
        promised durability: Durability
    ) throws {
        let before = harness.newestState
        let (possible, acknowledged) = (harness.statesWithUnknownOutcome, harness.acknowledgedStates)
        let keepsPastFiles = harness.setup.history.age < .max
        // Any seed is suitable.
        harness.crash(survival, seed: UInt64(title.utf8.count))
        do {
            try harness.open()
        } catch {
            Issue.record("\(title): \(error)")
            return
        }
        guard let before, let found = harness.newestState, let recovered = harness.recovered else { return }
        guard recovered.beganEpoch else {
            let expected = ([before] + possible).first { $0.revision == found.revision }.map(StateDescription.init)
            let description = StateDescription(found)
            #expect(
                keepsPastFiles ? expected?.content == description.content : expected == description,
                "\(title): found \(found.cursor), and before was \(before.cursor)")
            if keepsPastFiles { try expectPastStates(harness, acknowledged, title) }
            return
        }
        // A directory without a commit counts as new, so the start begins an epoch.
        if before.revision == .zero && found.revision == .zero { return }
        #expect(durability != .always, "\(title): a new epoch")
        #expect(found.epoch != before.epoch && found.revision > before.revision, "\(title): \(found.cursor)")
        // A new epoch skips `epochRevisionGap` revisions.
        let revision = found.revision.advanced(by: -Recovery.epochRevisionGap)
        let content = (acknowledged + possible).last { $0.revision == revision }.map { StateDescription($0).content }
        #expect(content == StateDescription(found).content, "\(title): found \(found.cursor)")
    }
}
