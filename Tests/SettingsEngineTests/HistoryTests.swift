import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

@Suite(.ownThread)
struct HistoryTests {
    private static func commit(_ revision: Revision, textBytes: Int) -> Commit {
        Commit(
            revision: revision, time: Timestamp(milliseconds: 0), author: String(repeating: "x", count: textBytes))
    }

    @Test("It keeps the newest commits within its bounds, and copies stay as they were")
    func random() throws {
        for var random in FuzzBudget.generators(share: 0.02) {
            var limits = History.Limits()
            limits.commits = 1 + random.below(600)
            limits.bytes = 60_000
            let floor = try #require(Revision(Int64(random.below(3))))
            var history = History(floor: floor)
            var kept: [KeptCommit] = []
            var newest = floor
            var copies: [(history: History, revisions: [Revision])] = []
            for _ in 0..<1_000 {
                newest = try #require(newest.advanced(by: Int64(1 + random.below(3))))
                let commit = KeptCommit(Self.commit(newest, textBytes: random.below(100)))
                kept.append(commit)
                var forgotten: [Revision] = []
                while kept.count > limits.commits || kept.reduce(0, { $0 + $1.size }) > limits.bytes {
                    forgotten.append(kept.removeFirst().commit.revision)
                }
                let dropped = history.append(commit, limits: limits).map(\.commit.revision)
                try #require(dropped == forgotten, "seed \(random.seed)")
                if let last = forgotten.last { #expect(history.floor == last, "seed \(random.seed)") }
                if random.chance(oneIn: 200) { copies.append((history, kept.map(\.commit.revision))) }
            }
            #expect(history.count == kept.count, "seed \(random.seed)")
            #expect(history.size == kept.reduce(0) { $0 + $1.size }, "seed \(random.seed)")
            for copy in copies {
                try #require(copy.history.all.map(\.commit.revision) == copy.revisions, "seed \(random.seed)")
            }
            let revisions = kept.map(\.commit.revision)
            for _ in 0..<100 {
                let span = newest.number - history.floor.number
                let since = try #require(history.floor.advanced(by: Int64.random(in: 0...(span + 2), using: &random)))
                let found = history.commits(after: since).map(\.commit.revision)
                try #require(found == revisions.filter { $0 > since }, "seed \(random.seed)")
            }
        }
    }

    @Test("A commit that is larger than the bound is not kept, and what is kept is not complete before it")
    func tooLarge() throws {
        var limits = History.Limits()
        limits.bytes = 1_000
        var history = History(floor: .zero)
        for (number, textBytes) in [(1, 10), (2, 1_001), (3, 10)] {
            let revision = try #require(Revision(Int64(number)))
            _ = history.append(KeptCommit(Self.commit(revision, textBytes: textBytes)), limits: limits)
        }
        #expect(history.all.map(\.commit.revision.number) == [1, 3])
        #expect(history.floor.number == 2)
    }
    @Test(
        "What is forgotten is let go of soon, so that the bound holds for memory too", arguments: [100, 5_000, 200_000])
    func lettingGo(textBytes: Int) throws {
        /// Looks at commits without keeping them.
        struct Glance {
            weak var commit: KeptCommit?
            let size: Int
        }
        var limits = History.Limits()
        limits.bytes = 1 << 20
        var history = History(floor: .zero)
        var glances: [Glance] = []
        for number in 1...1_000 {
            let revision = try #require(Revision(Int64(number)))
            let commit = KeptCommit(Self.commit(revision, textBytes: textBytes))
            glances.append(Glance(commit: commit, size: commit.size))
            _ = history.append(commit, limits: limits)
        }
        let held = glances.reduce(0) { $0 + ($1.commit == nil ? 0 : $1.size) }
        #expect(held >= history.size)
        #expect(held <= limits.bytes * 9 / 8)
    }
}
