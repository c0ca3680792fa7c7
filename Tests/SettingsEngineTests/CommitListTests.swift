import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

/// `CommitList`: the commits of the history in memory, in chunks of up to 64.
@Suite(.ownThread)
struct CommitListTests {
    private static func revision(_ number: Int) throws -> Revision { try #require(Revision(Int64(number))) }

    private static func commit(_ number: Int) throws -> RetainedCommit {
        RetainedCommit(Commit(revision: try revision(number), time: Timestamp(milliseconds: 0)), size: 1)
    }

    private static func revisions(in list: CommitList) -> [Revision] {
        var found: [Revision] = []
        _ = list.forEach(after: .zero) { commit in
            found.append(commit.revision)
            return true
        }
        return found
    }

    @Test("A list equals an array after random changes, and copies keep their elements")
    func random() throws {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for var random in FuzzBudget.generators(roundsFactor: 0.005) {
            let seed: Comment = "seed \(random.seed)"
            var list = CommitList()
            var model: [Revision] = []
            var copies: [(list: CommitList, model: [Revision])] = []
            // The mean number of appends among four changes. In some phases, most changes are removals, so that the
            // list becomes empty.
            var appendsOfFour = 3
            for number in 1...1_500 {
                if random.chance(oneIn: 100) { appendsOfFour = random.pick([1, 2, 3, 4]) }
                if random.chance(oneIn: 200) { copies.append((list, model)) }
                if random.below(4) < appendsOfFour {
                    list.append(try Self.commit(number * 2))
                    model.append(try Self.revision(number * 2))
                } else if random.chance(oneIn: 2) {
                    #expect(list.popFirst()?.revision == (model.isEmpty ? nil : model.removeFirst()), seed)
                } else {
                    // The list contains only even revisions.
                    let index = random.below(model.count + 1)
                    let revision = index < model.count ? model.remove(at: index) : try Self.revision(2 * index + 1)
                    let isRemoved = list.remove(revision)
                    #expect(isRemoved == (revision.number % 2 == 0), seed)
                }
                try #require(list.count == model.count && list.isEmpty == model.isEmpty, seed)
                try #require(list.first?.revision == model.first && list.last?.revision == model.last, seed)
                if random.chance(oneIn: 10) { try expectSameSearches(list, model, upTo: number * 2 + 3, &random) }
            }
            try #require(Self.revisions(in: list) == model, seed)
            for copy in copies { try #require(Self.revisions(in: copy.list) == copy.model, seed) }
        }
    }

    @Test("After 15 of every 16 commits are removed, a list has the remaining commits and can be emptied")
    func sparse() throws {
        // A chunk of 64 commits keeps only four of them.
        var list = CommitList()
        for number in 1...2_000 { list.append(try Self.commit(number)) }
        for number in 1...2_000 where number % 16 != 0 {
            let isRemoved = list.remove(try Self.revision(number))
            #expect(isRemoved)
        }
        #expect(Self.revisions(in: list).map(\.number) == (1...125).map { $0 * 16 })
        for number in 1...125 { #expect(list.popFirst()?.revision.number == Int64(number * 16)) }
        #expect(list.isEmpty && list.popFirst() == nil && list.first == nil && list.last == nil)
    }

    private func expectSameSearches(
        _ list: CommitList, _ model: [Revision], upTo end: Int, _ random: inout SeededGenerator
    ) throws {
        let (revision, count) = (try Self.revision(random.below(end)), 1 + random.below(200))
        var (forwards, backwards): ([Revision], [Revision]) = ([], [])
        let isCompleteAfter = list.forEach(after: revision) { commit in
            forwards.append(commit.revision)
            return forwards.count < count
        }
        let isCompleteBefore = list.forEachReversed(before: revision) { commit in
            backwards.append(commit.revision)
            return backwards.count < count
        }
        let (after, before) = (model.filter { $0 > revision }, model.filter { $0 < revision })
        let seed: Comment = "seed \(random.seed)"
        #expect(forwards == Array(after.prefix(count)), seed)
        #expect(backwards == Array(before.reversed().prefix(count)), seed)
        #expect(isCompleteAfter == (after.count < count) && isCompleteBefore == (before.count < count), seed)
        #expect(list.first(after: revision)?.revision == after.first, seed)
        #expect(list.find(revision)?.revision == (model.contains(revision) ? revision : nil), seed)
    }
}
