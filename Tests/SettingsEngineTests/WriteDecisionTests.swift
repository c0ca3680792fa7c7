import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

/// Decides and applies random writes, and compares the state with plain dictionaries and with remembered states.
@Suite(.ownThread)
struct WriteDecisionTests {
    /// A state, and its expected contents as plain dictionaries.
    private struct Run {
        var state: State
        var plain = PlainSuites()
        /// The revision of the last commit.
        var lastRevision = Revision.zero
        let seed: UInt64

        init(seed: UInt64, limits: History.Limits = History.Limits()) throws {
            state = State(epoch: try #require(Epoch("e0")), limits: limits)
            self.seed = seed
        }

        /// Decides a write, compares the answer or the refusal with the dictionaries, and applies the commit.
        mutating func write(_ command: WriteCommand, isDryRun: Bool = false) throws -> Commit? {
            let context: Comment = "seed \(seed), after \(lastRevision): \(command)"
            let revision = try #require(lastRevision.advanced(by: 1))
            var request = WriteRequest(command)
            request.isDryRun = isDryRun
            var expected = plain
            let outcome = Result { try expected.apply(command, at: revision) }
            do {
                let time = Timestamp(milliseconds: 1_000 + revision.number)
                let decision = try state.decide(request, revision: revision, time: time)
                guard case .success(let changed) = outcome else {
                    Issue.record("the write was not refused, \(context)")
                    return nil
                }
                try expect(decision.answer, changed, context)
                try #require((decision.commit != nil) == (changed != nil && !isDryRun), context)
                guard let commit = decision.commit else { return nil }
                lastRevision = revision
                try state.apply(commit, schema: decision.schema)
                plain = expected
                return commit
            } catch let problem as Problem {
                guard case .failure(let refusal as PlainSuites.Refusal) = outcome else {
                    Issue.record("the write was refused: \(problem.description), \(context)")
                    return nil
                }
                #expect(problem.code.map { refusal.codes.contains($0) } ?? false, "\(problem.description), \(context)")
                return nil
            }
        }

        private func expect(_ answer: WriteAnswer, _ changed: [String]?, _ context: Comment) throws {
            switch answer.body {
            case .setting(let setting): #expect(setting.changed == (changed != nil), context)
            case .change(let changes):
                #expect(changes.map { "\($0.suite) \($0.key)" } == changed ?? [], context)
            case .summary(let summary):
                #expect(summary.changed == (changed != nil), context)
                #expect(summary.changes.map { "\($0.suite) \($0.key)" }.sorted() == (changed ?? []).sorted(), context)
            }
        }

        /// Compares everything that can be read with the dictionaries.
        func check() throws {
            let context: Comment = "seed \(seed), at \(state.revision)"
            #expect(state.suites.elements.map(\.name) == plain.suites.keys.sorted(), context)
            for name in PlainSuites.suiteNames {
                let suite = state.suite(try SuiteName(name))
                let plain = plain.suites[name]
                #expect(suite?.revision == plain?.revision, context)
                #expect(suite?.schemaRevision == plain?.schemaRevision, context)
                let expectedKeyCount = plain.map { Set($0.stored.keys).union($0.schema?.listed ?? []).count }
                #expect(suite?.keyCount == expectedKeyCount, context)
                for key in PlainSuites.keys {
                    let setting = state.setting(try SuiteName(name), try KeyName(key))
                    let source = plain?.source(key) ?? .unset
                    let revision = plain.map { $0.revisions[key] ?? $0.unwrittenKeyRevision } ?? self.plain.lastDrop
                    try #require(setting.value == plain?.value(key), context)
                    try #require(setting.source == source, context)
                    try #require(setting.stored == (source == .invalid ? plain?.stored[key] : nil), context)
                    try #require(setting.revision == revision, "\(name) \(key), \(context)")
                }
            }
        }
    }

    @Test("Random writes change the state in the same way as plain dictionaries")
    func random() throws {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for random in FuzzBudget.generators(roundsFactor: 0.03) {
            var writes = try RandomWrites(random)
            var run = try Run(seed: random.seed)
            for _ in 0..<120 {
                _ = try run.write(try writes.next(), isDryRun: writes.random.chance(oneIn: 10))
                try run.check()
            }
        }
    }

    @Test("Applying the commits from journal lines gives the same state")
    func replayed() throws {
        for random in FuzzBudget.generators(roundsFactor: 0.01) {
            var writes = try RandomWrites(random)
            var run = try Run(seed: random.seed)
            var replayed = run.state
            for _ in 0..<120 {
                guard let commit = try run.write(try writes.next()) else { continue }
                let read = try commit.writtenToJournalAndRead(on: replayed)
                #expect(read == commit, "seed \(random.seed)")
                try replayed.apply(read)
            }
            #expect(replayed.cursor == run.state.cursor, "seed \(random.seed)")
            for name in PlainSuites.suiteNames {
                let suite = try SuiteName(name)
                #expect(replayed.suite(suite)?.text() == run.state.suite(suite)?.text(), "seed \(random.seed)")
            }
        }
    }

    @Test("A journal line that omits the replaced value is refused if the state has no stored value")
    func incomplete() throws {
        var run = try Run(seed: 0)
        let app = try SuiteName("app")
        let before = run.state
        for value: JSONValue in [1, 2] {
            let operation = Transaction.Operation(suite: app, key: try KeyName("a"), .set(value))
            let commit = try #require(try run.write(.setting(operation)))
            // Only the second commit replaces a value. In the state `before`, no value is stored.
            if value == 2 { #expect(throws: CommitMismatch.self) { try commit.writtenToJournalAndRead(on: before) } }
        }
    }

    @Test("A suite read at an earlier revision equals the remembered suite, back to the oldest available revision")
    func past() throws {
        for random in FuzzBudget.generators(roundsFactor: 0.02) {
            var writes = try RandomWrites(random)
            var limits = History.Limits()
            limits.commits = 60
            limits.suiteCommits = random.seed.isMultiple(of: 2) ? 5 : 100
            var run = try Run(seed: random.seed, limits: limits)
            var remembered: [Revision: State] = [.zero: run.state]
            for _ in 0..<150 {
                _ = try run.write(try writes.next())
                remembered[run.state.revision] = run.state
            }
            let finalState = run.state
            for (revision, earlier) in remembered {
                for name in PlainSuites.suiteNames {
                    let suite = try SuiteName(name)
                    let context: Comment = "seed \(random.seed), \(name) at \(revision), read at \(finalState.revision)"
                    let oldest = finalState.oldestAvailable(of: suite)
                    guard revision >= oldest else {
                        let problem = #expect(throws: Problem.self, context) {
                            try finalState.recentPast.suite(suite, at: revision)
                        }
                        #expect(problem?.code == .historyGone && problem?.oldest == oldest, context)
                        continue
                    }
                    // If a later commit dropped the suite, a read may not know the revisions of unset keys. If also
                    // the commit that gave the suite its revision was evicted, a read may not know this revision.
                    let isDropped = finalState.history.commits(after: revision).contains { retained in
                        retained.commit.suiteChanges.contains { $0.suite == suite && $0.kind == .dropped }
                    }
                    let before = earlier.suite(suite)
                    var past = try finalState.recentPast.suite(suite, at: revision)
                    if isDropped, let suiteRevision = before?.revision, suiteRevision <= oldest {
                        past?.revision = suiteRevision
                    }
                    let pastText = past?.text(withRevisionsOfUnsetKeys: !isDropped)
                    let expectedText = before?.text(withRevisionsOfUnsetKeys: !isDropped)
                    try #require(pastText == expectedText, context)
                }
            }
        }
    }

    @Test("A commit is refused if its revision is not higher, its schema is invalid, or it contradicts the state")
    func mismatches() throws {
        var run = try Run(seed: 0)
        let app = try SuiteName("app")
        let operation = Transaction.Operation(suite: app, key: try KeyName("a"), .set(1))
        let first = try #require(try run.write(.setting(operation)))
        let next = try #require(Revision(2))
        let time = Timestamp(milliseconds: 0)
        // In this order: the revision of `first` is not higher, the suite `app` exists, the suite `net` does not exist,
        // a schema must have `additionalProperties`, and a value needs a suite.
        let commits = [
            first, Commit(revision: next, time: time, suiteChanges: [SuiteChange(suite: app, kind: .created)]),
            Commit(
                revision: next, time: time, suiteChanges: [SuiteChange(suite: try SuiteName("net"), kind: .dropped)]),
            Commit(
                revision: next, time: time,
                suiteChanges: [SuiteChange(suite: app, kind: .schemaSet(revision: next, document: [:]))]),
            Commit(
                revision: next, time: time,
                changes: [
                    Change(
                        suite: try SuiteName("net"), key: try KeyName("a"), old: nil, new: 1, oldSource: .unset,
                        source: .stored, revision: next, modified: time)
                ]),
        ]
        for commit in commits {
            var state = run.state
            #expect(throws: CommitMismatch.self, "\(commit)") { try state.apply(commit) }
        }
    }
}

extension Suite {
    /// A text with everything that a client can read of a suite, with or without the revisions of unset keys.
    fileprivate func text(withRevisionsOfUnsetKeys: Bool = true) -> String {
        let settings = keys(prefix: "", after: nil, limit: 1_000).records.map { record in
            var setting = setting(record)
            if !withRevisionsOfUnsetKeys && setting.source == .unset {
                setting.revision = .zero
                setting.modified = nil
            }
            return setting
        }
        return "\(revision) \(schemaRevision) \(keyCount) \(schema?.schema.document.text() ?? "no schema")\n\(settings)"
    }
}
