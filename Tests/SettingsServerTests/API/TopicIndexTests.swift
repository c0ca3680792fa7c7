import HTTPWire
import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import HTTPServer
@testable import SettingsWeb

/// Compares the index of topics with a plain list of watchers. A topic has all watchers with the same subject.
@Suite(.ownThread)
struct TopicIndexTests {
    private struct IndexedWatcher {
        let ticket: Ticket
        let topic: Topic
        /// The position of the watcher in the list of the topic.
        var position: Int
    }

    private static let suites = ["app", "net", "zz"]
    /// Names of keys, and prefixes. The two spellings of é are different names.
    private static let texts = ["a", "a.b", "a.b.c", "b", "é", "e\u{301}", "ab"]

    private func revision(_ number: Int64) -> Revision { Revision(number) ?? .zero }

    private func subject(_ random: inout SeededGenerator) throws -> WatchSubject {
        let keys = try (0..<random.below(3)).map { _ in try KeyName(random.pick(Self.texts)) }
        let prefixes = (0..<random.below(3)).map { _ in random.pick(Self.texts + [""]) }
        let filter = KeyFilter(keys: keys, prefixes: prefixes)
        let suites = try (0...random.below(2)).map { _ in try SuiteName(random.pick(Self.suites)) }
        let suitePrefixes = (0..<random.below(3)).map { _ in random.pick(["", "a", "app", "n", "zzz"]) }
        return random.chance(oneIn: 2)
            ? WatchSubject(suites[0], filter) : WatchSubject(suites, prefixes: suitePrefixes, filter)
    }

    private func commit(_ random: inout SeededGenerator) throws -> Commit {
        var commit = Commit(revision: revision(1), time: Timestamp(milliseconds: 1))
        for _ in 0..<random.below(4) {
            commit.changes.append(
                Change(
                    suite: try SuiteName(random.pick(Self.suites)), key: try KeyName(random.pick(Self.texts)),
                    old: nil, new: 1, oldSource: .unset, source: .stored, revision: revision(1),
                    modified: Timestamp(milliseconds: 1)))
        }
        if random.chance(oneIn: 5) {
            commit.suiteChanges = [SuiteChange(suite: try SuiteName(random.pick(Self.suites)), kind: .schemaRemoved)]
        }
        return commit
    }

    @Test("After any additions and removals, the index finds the watchers that a commit concerns", arguments: 0..<20)
    func randomSteps(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        // The memory suffices for all subjects.
        var index = TopicIndex(MemoryBudget(limit: 1 << 20))
        var watchers: [IndexedWatcher] = []
        for step in 0..<600 {
            // Adds a watcher in two of three steps, and later in seven of eight steps; otherwise removes a watcher.
            if watchers.isEmpty || random.chance(oneIn: step < 400 ? 3 : 8) == false {
                let ticket = Ticket(slot: UInt32(step), generation: 1, number: 1)
                let (topic, position) = try index.add(ticket, try subject(&random))
                watchers.append(IndexedWatcher(ticket: ticket, topic: topic, position: position))
            } else {
                // The last watcher of the topic moves to the position of the removed watcher.
                let removed = watchers.remove(at: random.below(watchers.count))
                if let moved = index.remove(removed.topic, removed.position) {
                    let position = try #require(watchers.firstIndex { $0.ticket == moved })
                    #expect(watchers[position].topic === removed.topic)
                    watchers[position].position = removed.position
                }
            }
            let commit = try commit(&random)
            var found: [ObjectIdentifier: Topic] = [:]
            index.collectTopics(matching: 0..<commit.changes.count, of: commit, into: &found)
            let foundTickets = found.values.flatMap(\.members)
            let expectedTickets = watchers.filter { $0.topic.subject.matches(commit) }.map(\.ticket)
            #expect(
                foundTickets.count == expectedTickets.count && Set(foundTickets) == Set(expectedTickets),
                "seed \(seed), step \(step)")
        }
        for position in watchers.indices.reversed() {
            let last = watchers[position]
            if let moved = index.remove(last.topic, last.position) {
                let other = try #require(watchers.firstIndex { $0.ticket == moved })
                watchers[other].position = last.position
            }
            watchers.removeLast()
        }
        #expect(Array(index.allTopics).isEmpty)
    }
}
