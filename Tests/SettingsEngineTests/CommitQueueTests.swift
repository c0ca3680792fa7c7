import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

@Suite(.ownThread)
struct CommitQueueTests {
    private static func revision(_ number: Int) throws -> Revision { try #require(Revision(Int64(number))) }

    private static func commit(_ number: Int) throws -> KeptCommit {
        KeptCommit(Commit(revision: try revision(number), time: Timestamp(milliseconds: 0)), size: 1)
    }

    private static func all(_ queue: CommitQueue) -> [Revision] {
        var found: [Revision] = []
        _ = queue.forEach(startingAt: .zero) { commit in
            found.append(commit.revision)
            return true
        }
        return found
    }

    @Test("A queue has what an array has, whatever comes and goes, and copies stay as they were")
    func random() throws {
        for var random in FuzzBudget.generators(share: 0.005) {
            let seed: Comment = "seed \(random.seed)"
            var queue = CommitQueue()
            var model: [Revision] = []
            var copies: [(queue: CommitQueue, model: [Revision])] = []
            // Now and then mostly removals, so that the queue runs empty.
            var growth = 3
            for number in 1...1_500 {
                if random.chance(oneIn: 100) { growth = random.pick([1, 2, 3]) }
                if random.chance(oneIn: 200) { copies.append((queue, model)) }
                if random.below(4) < growth {
                    queue.append(try Self.commit(number * 2))
                    model.append(try Self.revision(number * 2))
                } else {
                    #expect(queue.popFirst()?.revision == (model.isEmpty ? nil : model.removeFirst()), seed)
                }
                try #require(queue.count == model.count && queue.isEmpty == model.isEmpty, seed)
                try #require(queue.first?.revision == model.first && queue.last?.revision == model.last, seed)
                if random.chance(oneIn: 10) { try expectSameReading(queue, model, upTo: number * 2 + 3, &random) }
            }
            try #require(Self.all(queue) == model, seed)
            for copy in copies { try #require(Self.all(copy.queue) == copy.model, seed) }
        }
    }

    private func expectSameReading(
        _ queue: CommitQueue, _ model: [Revision], upTo end: Int, _ random: inout SeededGenerator
    ) throws {
        let (place, count) = (try Self.revision(random.below(end)), 1 + random.below(40))
        var (forwards, backwards): ([Revision], [Revision]) = ([], [])
        let wasAll = queue.forEach(startingAt: place) { commit in
            forwards.append(commit.revision)
            return forwards.count < count
        }
        let wasAllBefore = queue.forEachReversed(before: place) { commit in
            backwards.append(commit.revision)
            return backwards.count < count
        }
        let (after, before) = (model.filter { $0 >= place }, model.filter { $0 < place })
        #expect(forwards == Array(after.prefix(count)), "seed \(random.seed)")
        #expect(backwards == Array(before.reversed().prefix(count)), "seed \(random.seed)")
        let some = queue.some(after: place).map(\.revision)
        #expect(some == Array(model.filter { $0 > place }.prefix(some.count)), "seed \(random.seed)")
        #expect(some.isEmpty == !model.contains { $0 > place }, "seed \(random.seed)")
        #expect(wasAll == (after.count < count) && wasAllBefore == (before.count < count), "seed \(random.seed)")
    }
}
