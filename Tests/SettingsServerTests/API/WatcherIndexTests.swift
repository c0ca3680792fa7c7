import HTTPWire
import SettingsModel
import TestSupport
import Testing

@testable import SettingsServer

/// What watchers are found by, against plain lists.
@Suite("Who is woken")
struct WatcherIndexTests {
    private struct Filed {
        let ticket: Ticket
        let topic: Topic
        var place: Int
    }

    private static let suites = ["app", "net", "zz"]
    private static let texts = ["a", "a.b", "a.b.c", "b", "é", "e\u{301}", "ab"]

    private func revision(_ number: Int64) -> Revision { Revision(number) ?? .zero }

    private func subject(_ random: inout SeededGenerator) throws -> WatchSubject {
        let keys = try (0..<random.below(3)).map { _ in try KeyName(random.pick(Self.texts)) }
        let prefixes = (0..<random.below(3)).map { _ in random.pick(Self.texts + [""]) }
        let filter = KeyFilter(keys: keys, prefixes: prefixes)
        let suites = try (0...random.below(2)).map { _ in try SuiteName(random.pick(Self.suites)) }
        let families = (0..<random.below(3)).map { _ in random.pick(["", "a", "app", "n", "zzz"]) }
        return random.chance(oneIn: 2)
            ? WatchSubject(suites[0], filter) : WatchSubject(suites, prefixes: families, filter)
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

    @Test("Whoever comes and goes, a commit finds those whom it concerns and nobody else", arguments: 0..<20)
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var index = WatcherIndex()
        var filed: [Filed] = []
        for number in 0..<600 {
            if filed.isEmpty || random.chance(oneIn: number < 400 ? 3 : 8) == false {
                let ticket = Ticket(slot: UInt32(number), generation: 1, number: 1)
                let (topic, place) = index.add(ticket, try subject(&random))
                filed.append(Filed(ticket: ticket, topic: topic, place: place))
            } else {
                let gone = filed.remove(at: random.below(filed.count))
                if let moved = index.remove(gone.topic, gone.place) {
                    let position = try #require(filed.firstIndex { $0.ticket == moved })
                    #expect(filed[position].topic === gone.topic)
                    filed[position].place = gone.place
                }
            }
            let commit = try commit(&random)
            var found: [ObjectIdentifier: Topic] = [:]
            index.collect(commit, into: &found)
            let woken = found.values.flatMap(\.members)
            let wanted = filed.filter { $0.topic.subject.matches(commit) }.map(\.ticket)
            #expect(woken.count == wanted.count && Set(woken) == Set(wanted), "seed \(seed), step \(number)")
        }
        for position in filed.indices.reversed() {
            let last = filed[position]
            if let moved = index.remove(last.topic, last.place) {
                let other = try #require(filed.firstIndex { $0.ticket == moved })
                filed[other].place = last.place
            }
            filed.removeLast()
        }
        #expect(Array(index.all).isEmpty)
    }

    @Test("Answers are shared by those who ask the same at one state, as far as there is room")
    func shared() throws {
        var answers = SharedAnswers()
        let app = WatchSubject(try SuiteName("app"))
        func question(_ after: Int64) -> SharedQuestion {
            SharedQuestion(subject: app, after: revision(after), form: .quiet)
        }
        answers.keep(Response(status: 200, body: [1]), for: question(1), at: revision(5))
        #expect(answers.answer(to: question(1), at: revision(5))?.body == [1])
        #expect(answers.answer(to: question(2), at: revision(5)) == nil)
        #expect(answers.answer(to: question(1), at: revision(6)) == nil)
        answers.keep(Response(status: 200, body: [2]), for: question(1), at: revision(6))
        #expect(answers.answer(to: question(1), at: revision(6))?.body == [2])
        #expect(answers.answer(to: question(1), at: revision(5)) == nil)
        let long = [UInt8](repeating: 0, count: 3 << 20)
        for number in 2...4 {
            answers.keep(Response(status: 200, body: long), for: question(Int64(number)), at: revision(6))
        }
        #expect(
            (1...4).map { answers.answer(to: question($0), at: revision(6)) != nil } == [false, false, false, true])
        answers.forget()
        #expect(answers.answer(to: question(4), at: revision(6)) == nil)
    }
}
