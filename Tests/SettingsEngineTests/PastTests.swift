import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

/// Compares reads, differences and restores of the past with a list of complete states. The random writes use the three
/// suites `PlainSuites.suiteNames` and the six keys `PlainSuites.keys`.
struct PastTests {
    /// Everything that a client can read of a suite, in a form that can be compared.
    struct ReadableSuite: Equatable {
        var stored: [String: JSONValue] = [:]
        /// For each key, the source of the effective value and the value as JSON, or `-` for no value.
        var effective: [String: String] = [:]
        /// The text in `effective` for a key of a missing suite.
        static let unset = "unset -"
        var schema: JSONValue?

        init(_ suite: Suite) throws {
            schema = suite.schema?.schema.document
            for name in PlainSuites.keys {
                let record = suite.record(try KeyName(name))
                stored[name] = record.stored
                effective[name] = "\(record.valueSource) \(suite.effectiveValue(of: record)?.text() ?? "-")"
            }
        }
    }

    /// The complete state after a commit.
    struct PastState {
        let cursor: Cursor
        let time: Timestamp
        let suites: [String: ReadableSuite]

        init(_ state: State) throws {
            cursor = state.cursor
            time = state.time
            var suites: [String: ReadableSuite] = [:]
            for name in PlainSuites.suiteNames {
                if let suite = state.suite(try SuiteName(name)) { suites[name] = try ReadableSuite(suite) }
            }
            self.suites = suites
        }

        var revision: Revision { cursor.revision }
    }

    /// A state with all its earlier states.
    struct Run {
        var state: State
        var pastStates: [PastState]
        var random: SeededGenerator

        init(_ random: SeededGenerator, commits: Int, limits: History.Limits = History.Limits()) throws {
            self.random = random
            state = State(epoch: try #require(Epoch("e0")), limits: limits)
            pastStates = [try PastState(state)]
            var writes = try RandomWrites(random)
            while pastStates.count <= commits { _ = try write(try writes.next()) }
        }

        /// Decides a write and applies its commit. Returns the revision of the commit; nil if the write changes
        /// nothing.
        mutating func write(_ command: WriteCommand) throws -> Result<Revision?, Problem> {
            let revision = try #require(state.revision.advanced(by: Int64(1 + random.below(3))))
            let time = Timestamp(milliseconds: state.time.milliseconds + 1 + Int64(random.below(2000)))
            let decision: WriteDecision
            do throws(Problem) {
                decision = try state.decide(WriteRequest(command), revision: revision, time: time)
            } catch {
                return .failure(error)
            }
            guard let commit = decision.commit else { return .success(nil) }
            // The state gets the commit in the form that is read from the journal.
            try state.apply(try commit.writtenToJournalAndRead(on: state))
            pastStates.append(try PastState(state))
            return .success(revision)
        }

        var context: Comment { "seed \(random.seed)" }
    }

    @Test("A suite read at a revision or an instant equals the suite at that time")
    func reads() throws {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for random in FuzzBudget.generators(roundsFactor: 0.01) {
            let run = try Run(random, commits: 80)
            for pastState in run.pastStates {
                for name in PlainSuites.suiteNames {
                    let suite = try SuiteName(name)
                    let found = try run.state.recentPast.suite(suite, at: pastState.revision).map(ReadableSuite.init)
                    try #require(found == pastState.suites[name], run.context)
                    for instant in [pastState.time, Timestamp(milliseconds: pastState.time.milliseconds + 1)] {
                        let expected = try #require(
                            run.pastStates.last { $0.time.milliseconds <= instant.milliseconds }, run.context)
                        let revision = try run.state.recentPast.revision(at: .instant(instant), of: suite)
                        let found = try run.state.recentPast.suite(suite, at: revision).map(ReadableSuite.init)
                        try #require(found == expected.suites[name], run.context)
                    }
                }
            }
        }
    }

    @Test(
        "With a short history, a read of an instant returns the suite, or history_gone if it needs evicted commits"
    )
    func shortHistory() throws {
        var (answered, gone) = (0, 0)
        for random in FuzzBudget.generators(roundsFactor: 0.02) {
            var limits = History.Limits()
            limits.commits = 12
            limits.suiteCommits = 3
            let run = try Run(random, commits: 60, limits: limits)
            for pastState in run.pastStates {
                for instant in [pastState.time, Timestamp(milliseconds: pastState.time.milliseconds + 1)] {
                    let expected = try #require(
                        run.pastStates.last { $0.time.milliseconds <= instant.milliseconds }, run.context)
                    for name in PlainSuites.suiteNames {
                        let suite = try SuiteName(name)
                        let found: Suite?
                        do throws(Problem) {
                            let revision = try run.state.recentPast.revision(at: .instant(instant), of: suite)
                            found = try run.state.recentPast.suite(suite, at: revision)
                        } catch {
                            let oldest = run.state.oldestAvailable(of: suite)
                            try #require(error.code == .historyGone && error.oldest == oldest, run.context)
                            try #require(expected.revision < run.state.history.oldestAvailable, run.context)
                            gone += 1
                            continue
                        }
                        try #require(try found.map(ReadableSuite.init) == expected.suites[name], run.context)
                        answered += 1
                    }
                }
            }
        }
        #expect(answered > 50 && gone > 50)
    }

    @Test("A quiet suite is readable back to its last evicted commit, and not before")
    func quietSuite() throws {
        var limits = History.Limits()
        (limits.commits, limits.suiteCommits) = (8, 3)
        var state = State(epoch: try #require(Epoch("e0")), limits: limits)
        let (quiet, busy, key) = (try SuiteName("quiet"), try SuiteName("busy"), try KeyName("k"))
        func write(_ command: WriteCommand, at time: Int64) throws {
            let next = try #require(state.revision.advanced(by: 1))
            let decision = try state.decide(
                WriteRequest(command), revision: next, time: Timestamp(milliseconds: time))
            try state.apply(try #require(decision.commit))
        }
        func value(at time: Int64) throws(Problem) -> JSONValue? {
            let revision = try state.recentPast.revision(at: .instant(Timestamp(milliseconds: time)), of: quiet)
            return try state.recentPast.suite(quiet, at: revision)?.record(key).stored
        }
        for number in 1...5 {
            try write(
                .setting(Transaction.Operation(suite: quiet, key: key, .set(.integer(Int64(number))))),
                at: Int64(number) * 1000)
        }
        for number in 1...20 {
            try write(
                .setting(Transaction.Operation(suite: busy, key: key, .set(.integer(Int64(number))))),
                at: 10_000 + Int64(number))
        }
        // The suite protects its last three commits, at 3, 4 and 5 seconds.
        #expect(state.oldestAvailable(of: quiet) == Revision(2))
        #expect(try [5000, 4000, 3000, 2999, 2000].map { try value(at: $0) } == [5, 4, 3, 2, 2])
        let problem = #expect(throws: Problem.self) { try value(at: 1999) }
        #expect(problem?.code == .historyGone && problem?.oldest == Revision(2))
        // The state does not record when a schema was set. After the eviction of the commit that set the schema,
        // instants before the next commit of the suite cannot be read.
        try write(.setSchema(quiet, try Schema(["additionalProperties": true]), onConflict: .refuse), at: 20_000)
        for number in 1...3 {
            try write(
                .setting(Transaction.Operation(suite: quiet, key: key, .set(.integer(Int64(number))))),
                at: 20_000 + Int64(number) * 1000)
        }
        for number in 1...20 {
            try write(
                .setting(Transaction.Operation(suite: busy, key: key, .set(.integer(Int64(-number))))),
                at: 30_000 + Int64(number))
        }
        #expect(try value(at: 21_000) == 1)
        #expect(throws: Problem.self) { try value(at: 20_999) }
    }

    /// The daemon computes the ages of commits from the agreed time, an estimate of the present time, because a clock
    /// that runs ahead would make recent commits look old. `AgreedTime` computes the agreed time from the times of the
    /// commits. The maximum age of this test, 20 seconds, is less than a day, so it replaces the day in the rule of
    /// `AgreedTime` (see `agreedTime`).
    @Test("With a maximum age, the history keeps the commits up to that age before the agreed time")
    func age() throws {
        for random in FuzzBudget.generators(roundsFactor: 0.02) {
            var limits = History.Limits()
            limits.age = 20_000
            // The protection of the newest commits of a suite (here, none or the default) has no effect on the age
            // limit.
            limits.suiteCommits = random.seed % 2 == 0 ? 0 : 256
            let run = try Run(random, commits: 80, limits: limits)
            var time = AgreedTime()
            for pastState in run.pastStates.dropFirst() { time.add(pastState.time, maximumAge: limits.age) }
            let earliest = try #require(time.earliest(maximumAge: limits.age), run.context)
            let kept = run.pastStates.dropFirst().filter { $0.time.milliseconds >= earliest }.map(\.revision)
            #expect(run.state.history.all.map(\.revision) == kept, run.context)
            let dropped = run.pastStates.last { $0.time.milliseconds < earliest }
            #expect(run.state.history.oldestAvailable == dropped?.revision ?? .zero, run.context)
        }
    }

    /// A day in milliseconds.
    private static let day: Int64 = 86_400_000

    /// `AgreedTime` has a candidate, which is first the time of the first commit. A commit time before the candidate
    /// becomes the candidate. When a commit is at least a day after the candidate, the candidate becomes the agreed
    /// time, and the time of this commit becomes the candidate. A commit time before the agreed time becomes the agreed
    /// time at once.
    @Test(
        "A candidate becomes the agreed time when a commit is a day later; earlier commits set the agreed time back",
        arguments: [
            ("No commit", [], nil), ("Commits within less than a day", [0, day - 1], nil),
            ("Two commits a day apart", [0, day], 0), ("A third commit after another day", [0, day, 2 * day], day),
            ("A commit after years without a commit", [0, 1000 * day], 0),
            ("A clock that is ahead for an hour", [0, day, 4000 * day, 4000 * day + 3_600_000, day + 1], day),
            ("A clock that is ahead twice", [0, day, 4000 * day, day + 1, 4002 * day, day + 2], day + 1),
            ("A clock that stays ahead", [0, day, 4000 * day, 4001 * day], 4000 * day),
            ("A clock that is corrected after a day", [0, day, 4000 * day, 4001 * day, 2 * day], 2 * day),
            ("A clock that was set back for one commit", [day, 2 * day, 0, 2 * day], 0),
            ("A clock that was set back, then two commits a day apart", [day, 2 * day, 0, 3 * day, 4 * day], 3 * day),
        ] as [(String, [Int64], Int64?)])
    func agreedTime(name: String, times: [Int64], agreed: Int64?) {
        let age = 30 * Self.day
        var time = AgreedTime()
        for milliseconds in times { time.add(Timestamp(milliseconds: milliseconds), maximumAge: age) }
        #expect(time.earliest(maximumAge: age) == agreed.map { $0 - age })
        #expect(time.earliest(maximumAge: .max) == nil)
    }

    @Test("A clock that is years ahead for three commits evicts no commit that is younger than the maximum age")
    func wrongClock() throws {
        var limits = History.Limits()
        limits.age = 10 * Self.day
        // With these limits, no suite protects its newest commits from eviction.
        (limits.suiteCommits, limits.suiteBytes) = (0, 0)
        var staged = StagedState(State(epoch: try #require(Epoch("e0")), limits: limits))
        var (hour, count) = (0, 0)
        func write(yearsAhead years: Int64 = 0) throws {
            count += 1
            let operation = Transaction.Operation(
                suite: try SuiteName("app"), key: try KeyName("a"), .set(.integer(Int64(count))))
            let now = Timestamp(milliseconds: Int64(hour) * 3_600_000 + years * 365 * Self.day)
            _ = try staged.write(WriteRequest(.setting(operation)), at: now)
        }
        // A commit each hour for 30 days. The agreed time is one to two days before the last commit.
        for _ in 0..<(24 * 30) {
            hour += 1
            try write()
        }
        #expect((10 * 24...12 * 24).contains(staged.state.history.count))
        // If these times counted as the present time, all earlier commits would be older than the maximum age.
        for _ in 0..<3 { try write(yearsAhead: 10) }
        #expect(staged.state.history.count >= 10 * 24)
        for _ in 0..<(24 * 3) {
            hour += 1
            try write()
        }
        // The history may also have the three commits with a wrong time.
        #expect((10 * 24...12 * 24 + 3).contains(staged.state.history.count))
    }

    @Test("The difference between two revisions has the settings that differ, in both directions")
    func differences() throws {
        for random in FuzzBudget.generators(roundsFactor: 0.01) {
            var run = try Run(random, commits: 60)
            for _ in 0..<300 {
                let (from, to) = (run.random.pick(run.pastStates), run.random.pick(run.pastStates))
                let name = run.random.pick(PlainSuites.suiteNames)
                guard let suite = try? SuiteName(name), run.state.oldestAvailable(of: suite) == .zero else { continue }
                let (old, new) = (from.suites[name], to.suites[name])
                let found: SuiteDifference
                do throws(Problem) {
                    found = try run.state.recentPast.difference(
                        of: suite, from: .revision(from.revision), to: .revision(to.revision))
                } catch {
                    try #require(error.code == .unknownSuite && run.pastStates.allSatisfy { $0.suites[name] == nil })
                    continue
                }
                let keys = PlainSuites.keys.filter { key in
                    old?.stored[key] != new?.stored[key]
                        || old?.effective[key] ?? ReadableSuite.unset != new?.effective[key] ?? ReadableSuite.unset
                }
                try #require(found.changes.map(\.key.text) == keys, run.context)
                for change in found.changes {
                    let key = change.key.text
                    let before = old?.effective[key] ?? ReadableSuite.unset
                    let after = new?.effective[key] ?? ReadableSuite.unset
                    try #require("\(change.oldSource.name) \(change.old?.text() ?? "-")" == before, run.context)
                    try #require("\(change.source.name) \(change.new?.text() ?? "-")" == after, run.context)
                }
                try #require(found.isSchemaChanged == (old?.schema != new?.schema), run.context)
                #expect(found.cursor == to.cursor)
            }
        }
    }

    @Test("Undoing a commit reverts its changes, and undoing the undo restores them, unless a key changed later")
    func undo() throws {
        var (undone, refused) = (0, 0)
        for random in FuzzBudget.generators(roundsFactor: 0.02) {
            let run = try Run(random, commits: 40)
            for (before, after) in zip(run.pastStates, run.pastStates.dropFirst()) {
                var copy = run
                let commit = try #require(run.state.commitAt(after.revision), run.context)
                let hasNoLaterChange = PlainSuites.suiteNames.allSatisfy { name in
                    run.pastStates.allSatisfy { $0.revision < after.revision || $0.suites[name] == after.suites[name] }
                }
                switch try copy.write(.undo(UndoRequest(after.revision), of: nil, onConflict: .keep)) {
                case .success(let revision):
                    undone += 1
                    guard let revision, let last = copy.pastStates.last else { continue }
                    for change in commit.changes {
                        let (suite, key) = (change.suite.text, change.key.text)
                        try #require(last.suites[suite]?.stored[key] == before.suites[suite]?.stored[key], copy.context)
                    }
                    for change in commit.suiteChanges where change.kind != .created {
                        let suite = change.suite.text
                        try #require(last.suites[suite]?.schema == before.suites[suite]?.schema, copy.context)
                    }
                    if hasNoLaterChange {
                        for (name, suite) in before.suites { try #require(last.suites[name] == suite, copy.context) }
                    }
                    guard case .success = try copy.write(.undo(UndoRequest(revision), of: nil, onConflict: .keep))
                    else { continue }
                    let redone = copy.pastStates.last?.suites.mapValues(\.stored)
                    // An undo keeps a suite that the undone commit created, so `redone` may have additional empty
                    // suites.
                    for (name, stored) in run.pastStates.last?.suites.mapValues(\.stored) ?? [:] {
                        try #require(redone?[name] == stored, copy.context)
                    }
                case .failure(let problem):
                    refused += 1
                    let codes: [ErrorCode] = [.changedSince, .schemaConflict, .locked]
                    try #require(problem.code.map(codes.contains) ?? false, "\(copy.context): \(problem)")
                    if problem.code == .changedSince { try #require(!hasNoLaterChange, copy.context) }
                }
            }
        }
        #expect(undone > 10 && refused > 10)
    }

    @Test("A restore brings back the earlier values that the schema allows")
    func restore() throws {
        var (whole, partial) = (0, 0)
        for random in FuzzBudget.generators(roundsFactor: 0.06) {
            let run = try Run(random, commits: 40)
            for pastState in run.pastStates.dropFirst() {
                for (name, pastSuite) in pastState.suites {
                    var copy = run
                    let suite = try SuiteName(name)
                    let request = RestoreRequest(to: .revision(pastState.revision))
                    func stored() -> [String: JSONValue]? { copy.pastStates.last?.suites[name]?.stored }
                    switch try copy.write(.restore(suite, request, skipsConflicts: false)) {
                    case .success:
                        whole += 1
                        try #require(stored() ?? [:] == pastSuite.stored, copy.context)
                        continue
                    case .failure(let problem):
                        try #require(problem.code == .schemaConflict || problem.code == .locked, "\(problem)")
                        guard problem.code == .schemaConflict else { continue }
                        #expect(!problem.conflicts.isEmpty)
                    }
                    let before = stored() ?? [:]
                    guard case .success = try copy.write(.restore(suite, request, skipsConflicts: true)) else {
                        continue
                    }
                    partial += 1
                    for key in PlainSuites.keys {
                        let now = stored()?[key]
                        try #require(now == pastSuite.stored[key] || now == before[key], copy.context)
                    }
                }
            }
        }
        #expect(whole > 50 && partial > 10)
    }
}

extension State {
    /// The commit in the history with the revision.
    fileprivate func commitAt(_ revision: Revision) -> Commit? {
        history.all.first { $0.revision == revision }?.commit
    }
}
