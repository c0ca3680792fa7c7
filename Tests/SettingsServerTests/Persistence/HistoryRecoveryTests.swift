import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import SettingsStorage

@Suite(.ownThread)
struct HistoryRecoveryTests {
    /// Most commits change the suite `noisy`.
    private static let suites = Array(repeating: "noisy", count: 7) + ["app", "editor", "net"]

    /// Random commits of a few suites, the state after the last commit, and a list of all commits.
    private struct Run {
        var commits: RandomCommits
        var state: State
        var allCommits: [RetainedCommit] = []

        init(seed: UInt64, _ limits: History.Limits) throws {
            commits = RandomCommits(seed: seed)
            commits.suites = HistoryRecoveryTests.suites
            state = State(epoch: try #require(Epoch("e")), limits: limits)
        }

        /// Makes a commit of one or two suites.
        mutating func next() throws -> RetainedCommit {
            // Leaves a gap between the revisions.
            let revision = try #require(state.revision.advanced(by: 2))
            var commit = try commits.next(on: state, revision: revision)
            if commits.chance(percent: 20) {
                let other = try commits.next(on: state, revision: revision)
                if commit.affectedSuites.isDisjoint(with: other.affectedSuites) {
                    commit.suiteChanges += other.suiteChanges
                    commit.changes += other.changes
                }
            }
            // The length determines the size of the commit. Some commits are too large for the history.
            let length = commits.chance(percent: 3) ? 100_000 : Int.random(in: 1..<2_000, using: &commits.random)
            commit.origin = CommitOrigin(by: String(repeating: "a", count: length), note: nil)
            let retained = RetainedCommit(commit)
            try state.apply(commit)
            allCommits.append(retained)
            return retained
        }

        /// Checks that the history has every commit after its oldest available revision, and does not exceed its
        /// limits. The suite `never` has no commits.
        func expectCompleteHistory(_ state: State, _ context: Comment) throws {
            let history = state.history
            try #require(history.count <= state.limits.commits && history.size <= state.limits.bytes, context)
            let all = history.all.map(\.commit.revision)
            try #require(all.count == history.count, context)
            let later = allCommits.map(\.commit.revision).filter { $0 > history.oldestAvailable }
            try #require(history.commits(after: history.oldestAvailable).map(\.commit.revision) == later, context)
            for name in ["noisy", "app", "editor", "net", "never"] {
                let suite = try SuiteName(name)
                let ofSuite = allCommits.filter { $0.commit.affectedSuites.contains(suite) }.map(\.commit.revision)
                for oldest in [history.oldestAvailable(of: suite), state.oldestAvailable(of: suite)] {
                    let found = history.commits(of: suite, after: oldest).map(\.commit.revision)
                    try #require(found == ofSuite.filter { $0 > oldest }, "\(name) after \(oldest), \(context)")
                }
            }
        }
    }

    /// Returns random limits. `newestPercent` is the part of the limits that is reserved for the newest commits,
    /// regardless of their suites.
    private static func limits(_ random: inout SeededGenerator) -> History.Limits {
        var limits = History.Limits()
        limits.commits = 4 + random.below(40)
        limits.bytes = 5_000 + random.below(50_000)
        limits.suiteCommits = random.below(8)
        limits.suiteBytes = random.below(7_000)
        limits.newestPercent = random.pick([0, 50, 50, 100])
        return limits
    }

    /// Writes a snapshot of a state, and reads the state from this snapshot.
    private static func reread(_ state: State, limits: History.Limits) throws -> State {
        let directory = DataDirectory("/data", in: SimulatedDisk())
        _ = try SnapshotWriter.write(state, journal: state.revision, in: directory)
        return try read(state.revision, in: directory, limits)
    }

    private static func read(
        _ revision: Revision, in directory: DataDirectory, _ limits: History.Limits
    ) throws -> State {
        let file = DataDirectory.NumberedFile(name: DataDirectory.snapshotName(at: revision), revision: revision)
        return try SnapshotReader.read(file, in: directory, limits: limits).state
    }

    @Test("A history that is read from snapshots between commits equals the original history")
    func same() throws {
        // There are 1,000 rounds by default, so a share of 0.005 means five rounds.
        for var random in FuzzBudget.generators(roundsFactor: 0.005) {
            let limits = Self.limits(&random)
            var run = try Run(seed: random.seed, limits)
            var reread = run.state
            for number in 1...150 {
                let context: Comment = "seed \(random.seed), commit \(number)"
                try reread.apply(try run.next().commit)
                try #require(StateDescription(reread) == StateDescription(run.state), context)
                try run.expectCompleteHistory(reread, context)
                if random.chance(oneIn: 15) { reread = try Self.reread(reread, limits: limits) }
            }
        }
    }

    @Test("A long history reads back equal from a snapshot and respects other limits")
    func long() throws {
        // 0.0005 times 1,000 rounds is less than one round, and `generators` returns at least one round.
        for var random in FuzzBudget.generators(roundsFactor: 0.0005) {
            var limits = Self.limits(&random)
            limits.commits += 1_020
            limits.bytes = 16 << 20
            // Each suite protects at least 110 commits from eviction, so commits of the suites with few commits move
            // from the list of the newest commits to the list of older commits.
            (limits.suiteCommits, limits.suiteBytes) = (110 + random.below(40), 1 << 20)
            limits.newestPercent = 50
            var run = try Run(seed: random.seed, limits)
            var reread = run.state
            for number in 1...1_500 {
                let context: Comment = "seed \(random.seed), commit \(number)"
                try reread.apply(try run.next().commit)
                guard number > 1_000, random.chance(oneIn: 40) else { continue }
                try #require(StateDescription(reread) == StateDescription(run.state), context)
                try run.expectCompleteHistory(reread, context)
                reread = try Self.reread(reread, limits: limits)
                try #require(StateDescription(reread) == StateDescription(run.state), context)
                var short = reread
                short.setHistoryLimits(Self.limits(&random))
                try run.expectCompleteHistory(short, context)
            }
        }
    }

    @Test("A history that is read with other limits respects these limits")
    func otherLimits() throws {
        for var random in FuzzBudget.generators(roundsFactor: 0.005) {
            var run = try Run(seed: random.seed, Self.limits(&random))
            var other = run.state
            for number in 1...150 {
                let context: Comment = "seed \(random.seed), commit \(number)"
                try other.apply(try run.next().commit)
                if random.chance(oneIn: 15) {
                    other = try Self.reread(random.chance(oneIn: 2) ? other : run.state, limits: Self.limits(&random))
                }
                if random.chance(oneIn: 15) {
                    // A start with past files reads the history without limits first.
                    other = try Self.reread(random.chance(oneIn: 2) ? other : run.state, limits: .unbounded)
                    other.setHistoryLimits(Self.limits(&random))
                }
                try run.expectCompleteHistory(other, context)
            }
        }
    }

    @Test("A recovery from the last snapshot and the journal restores the history", arguments: 1...8)
    func crashes(seed: Int) throws {
        var setup = LogHarness.Setup(journalBytes: 2_500, suites: Self.suites)
        setup.history.commits = 14
        setup.history.bytes = 40_000
        setup.history.suiteCommits = 3
        setup.history.suiteBytes = 9_000
        let harness = try LogHarness(SimulatedDisk(), setup, seed: UInt64(seed))
        try harness.open()
        // The number of commits up to the revision `evictedThrough` that their suites have protected from eviction.
        var protectedCount = 0
        for _ in 0..<4 {
            for _ in 0..<12 { try harness.writeBatch() }
            let before = try #require(harness.newestState)
            protectedCount += before.history.all.count { $0.commit.revision <= before.history.evictedThrough }
            harness.crash(.syncedOnly)
            try harness.open()
            let after = try #require(harness.newestState)
            try #require(StateDescription(after) == StateDescription(before), "seed \(seed)")
        }
        #expect(protectedCount > 0, "seed \(seed)")
    }
}

extension Commit {
    fileprivate var affectedSuites: Set<SuiteName> {
        Set(changes.map(\.suite) + suiteChanges.map(\.suite))
    }
}
