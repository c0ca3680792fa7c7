import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

/// Tests of `History`, the recent commits in memory. If a history exceeds its limits, it evicts (removes) the oldest
/// commits. Each suite protects its newest commits from eviction, within the limits `suiteCommits` and `suiteBytes`.
@Suite(.ownThread)
struct SuiteHistoryTests {
    /// The effect of a commit on a suite: it changes a key, creates or drops the suite, or removes its schema.
    enum Effect: CaseIterable {
        case key, created, schemaRemoved, dropped
    }

    static func commit(
        _ number: Int, _ effects: [(suite: SuiteName, effect: Effect)], size: Int
    ) throws -> RetainedCommit {
        let revision = try #require(Revision(Int64(number)))
        var commit = Commit(revision: revision, time: Timestamp(milliseconds: 0))
        for (suite, effect) in effects {
            switch effect {
            case .key:
                commit.changes.append(
                    Change(
                        suite: suite, key: try KeyName("k"), old: nil, new: 1, oldSource: .unset, source: .stored,
                        revision: revision, modified: commit.time))
            case .created: commit.suiteChanges.append(SuiteChange(suite: suite, kind: .created))
            case .schemaRemoved: commit.suiteChanges.append(SuiteChange(suite: suite, kind: .schemaRemoved))
            case .dropped: commit.suiteChanges.append(SuiteChange(suite: suite, kind: .dropped))
            }
        }
        return RetainedCommit(commit, size: size)
    }

    /// A few suites that most commits change, and many suites that few commits change.
    private static func suites() throws -> [SuiteName] {
        try (0..<2).map { try SuiteName("noisy\($0)") } + (0..<12).map { try SuiteName("quiet\($0)") }
    }

    private static func randomLimits(_ random: inout SeededGenerator) -> History.Limits {
        var limits = History.Limits()
        limits.commits = 5 + random.below(80)
        limits.bytes = 600 + random.below(4_000)
        limits.suiteCommits = random.below(7)
        limits.suiteBytes = random.below(400)
        // The default, 50, is tested twice as often.
        limits.newestPercent = random.pick([0, 50, 50, 30, 100])
        return limits
    }

    private static func randomEntry(
        _ number: Int, _ suites: [SuiteName], _ limits: History.Limits, _ random: inout SeededGenerator
    ) throws -> HistoryModel.Entry {
        var changedSuites: [SuiteName] = []
        for _ in 0..<(random.chance(oneIn: 5) ? 3 : 1) {
            // The first two suites are the noisy suites.
            changedSuites.append(random.chance(oneIn: 4) ? random.pick(suites) : suites[random.below(2)])
        }
        // A commit can change the same suite twice.
        let effects = changedSuites.map { (suite: $0, effect: random.pick([.key, .key] + Effect.allCases)) }
        let isTooLarge = random.chance(oneIn: 60)
        // If the limit is several MB, the commits are larger in proportion.
        let sizeFactor = max(1, limits.bytes / (1 << 20))
        let size = isTooLarge ? limits.bytes + 400 : sizeFactor * random.below(random.chance(oneIn: 10) ? 500 : 60)
        return HistoryModel.Entry(commit: try commit(number, effects, size: size), suites: Set(changedSuites))
    }

    /// Every result of the queries of a history.
    private static func answers(_ history: History, _ suites: [SuiteName]) -> [String] {
        suites.map { suite in
            let commits = history.commits(of: suite, after: history.oldestAvailable(of: suite)).map(\.commit.revision)
            return "\(suite) \(history.oldestAvailable(of: suite)): \(commits)"
        } + ["\(history.all.map(\.commit.revision)) \(history.count) \(history.size) \(history.oldestAvailable)"]
    }

    /// Compares histories with the model at regular intervals.
    ///
    /// - Parameters:
    ///   - share: the number of runs, as a fraction of the rounds of random tests.
    ///   - commits: the number of commits of a run.
    ///   - comparisonInterval: the number of commits between two comparisons of all suites.
    /// - Returns: the number of runs in which the history evicted commits and had room for all protected commits, and
    ///   in which `suiteCommits` was at least 2.
    private func compare(
        share: Double, commits: Int, comparisonInterval: Int, _ limits: (inout SeededGenerator) -> History.Limits
    ) throws -> Int {
        var protectedRuns = 0
        for var random in FuzzBudget.generators(roundsFactor: share) {
            let limits = limits(&random)
            let suites = try Self.suites()
            var model = HistoryModel(limits, oldestAvailable: .zero)
            var history = History(oldestAvailable: .zero)
            /// All commits so far, except commits that were too large for the history.
            var appended: [HistoryModel.Entry] = []
            /// The suites with a commit that was too large for the history.
            var suitesWithGap: Set<SuiteName> = []
            /// True if there was always room for all protected commits.
            var alwaysFit = true
            var copies: [(history: History, answers: [String])] = []
            for number in 1...commits {
                let seed: Comment = "seed \(random.seed), commit \(number)"
                // The revisions have gaps, because revisions need not be consecutive.
                let entry = try Self.randomEntry(number * 2, suites, limits, &random)
                let expectedEvicted = model.append(entry)
                let evicted = history.append(entry.commit, limits: limits).map(\.commit.revision)
                try #require(evicted.sorted() == expectedEvicted, seed)
                if entry.commit.size > limits.bytes {
                    suitesWithGap.formUnion(entry.suites)
                } else {
                    appended.append(entry)
                }
                try #require(history.all.map(\.commit.revision) == model.entries.map(\.revision), seed)
                try #require(history.count == model.entries.count && history.count <= limits.commits, seed)
                try #require(
                    history.size == model.entries.reduce(0) { $0 + $1.commit.size } && history.size <= limits.bytes,
                    seed)
                try #require(history.oldestAvailable == model.oldestAvailable, seed)
                let protectedBySuite = suites.map { suite in
                    HistoryModel.protectedEntries(in: appended.filter { $0.suites.contains(suite) }, limits)
                }
                let union = Dictionary(protectedBySuite.joined().map { ($0.revision, $0) }) { first, _ in first }
                alwaysFit = alwaysFit && HistoryModel.fitProtectedShare(Array(union.values), limits)
                guard number % comparisonInterval == 0 else { continue }
                for (suite, protected) in zip(suites, protectedBySuite) {
                    let oldest = history.oldestAvailable(of: suite)
                    try #require(oldest == model.oldestAvailable(of: suite), seed)
                    try #require(oldest <= max(history.oldestAvailable, history.evictedThrough), seed)
                    let since = max(oldest, try #require(Revision(Int64(random.below(number * 2 + 2)))))
                    let expected = appended.filter { $0.suites.contains(suite) && $0.revision > since }
                    let found = history.commits(of: suite, after: since).map(\.commit.revision)
                    try #require(found == expected.map(\.revision), seed)
                    var backwards: [Revision] = []
                    history.forEachReversed(of: suite, before: try #require(Revision(.max))) { commit in
                        if commit.revision > since { backwards.append(commit.revision) }
                        return commit.revision > since
                    }
                    try #require(backwards == found.reversed(), seed)
                    guard alwaysFit, let first = protected.first, !suitesWithGap.contains(suite) else { continue }
                    try #require(oldest < first.revision, "\(suite) lost a protected commit, \(seed)")
                }
                let since = max(history.oldestAvailable, try #require(Revision(Int64(random.below(number * 2 + 2)))))
                try #require(
                    history.commits(after: since).map(\.commit.revision)
                        == appended.map(\.revision).filter { $0 > since }, seed)
                if random.chance(oneIn: 40) { copies.append((history, Self.answers(history, suites))) }
            }
            if alwaysFit && limits.suiteCommits > 1 && history.count < appended.count { protectedRuns += 1 }
            for copy in copies { #expect(Self.answers(copy.history, suites) == copy.answers, "seed \(random.seed)") }
        }
        return protectedRuns
    }

    @Test("A history keeps the commits that the model keeps, and finds them by suite")
    func random() throws {
        #expect(try compare(share: 0.03, commits: 300, comparisonInterval: 1, Self.randomLimits) > 0)
    }

    @Test("A history of more than a thousand commits, which are in many chunks, keeps the commits that the model keeps")
    func long() throws {
        let runs = try compare(share: 0.0005, commits: 1_300, comparisonInterval: 97) { random in
            var limits = Self.randomLimits(&random)
            limits.commits += 1_020
            limits.bytes = random.pick([1, 20]) << 20
            (limits.suiteCommits, limits.suiteBytes) = (20 + random.below(60), 1 << 20)
            limits.newestPercent = random.pick([30, 50])
            return limits
        }
        #expect(runs > 0)
    }

    @Test("A busy suite evicts only its own commits")
    func noisy() throws {
        var limits = History.Limits()
        limits.commits = 1_000
        let (noisy, quiet) = (try SuiteName("noisy"), try SuiteName("quiet"))
        var history = History(oldestAvailable: .zero)
        for number in 1...3 { _ = history.append(try Self.commit(number, [(quiet, .key)], size: 100), limits: limits) }
        for number in 4...10_000 {
            // The history keeps the 3 commits of `quiet` and the last 997 commits of `noisy`.
            let evicted = history.append(try Self.commit(number, [(noisy, .key)], size: 100), limits: limits)
            #expect(evicted.map(\.commit.revision.number) == (number > 1_000 ? [Int64(number - 997)] : []))
        }
        #expect(history.commits(of: quiet, after: .zero).map(\.commit.revision.number) == [1, 2, 3])
        #expect(history.oldestAvailable(of: quiet) == .zero)
        #expect(history.commits(of: noisy, after: .zero).count == 997)
        #expect(history.oldestAvailable(of: noisy).number == 9_003)
        #expect(history.count == 1_000)
    }
}
