import SettingsModel
import Testing

@testable import SettingsServer

@Suite("The history kept")
struct HistoryTests {
    @Test("It keeps the newest commits within its bounds, and copies stay as they were")
    func random() throws {
        for var random in FuzzBudget.generators(share: 0.02) {
            var limits = History.Limits()
            limits.commits = 1 + random.below(600)
            limits.bytes = 10_000
            let floor = try #require(Revision(Int64(random.below(3))))
            var history = History(floor: floor)
            var kept: [KeptCommit] = []
            var newest = floor
            var copies: [(history: History, revisions: [Revision])] = []
            for _ in 0..<1_000 {
                newest = try #require(newest.advanced(by: Int64(1 + random.below(3))))
                let commit = KeptCommit(
                    Commit(revision: newest, time: Timestamp(milliseconds: 0)), size: random.below(100))
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
        limits.bytes = 100
        var history = History(floor: .zero)
        for (number, size) in [(1, 10), (2, 101), (3, 10)] {
            let revision = try #require(Revision(Int64(number)))
            _ = history.append(
                KeptCommit(Commit(revision: revision, time: Timestamp(milliseconds: 0)), size: size), limits: limits)
        }
        #expect(history.all.map(\.commit.revision.number) == [1, 3])
        #expect(history.floor.number == 2)
    }
}
