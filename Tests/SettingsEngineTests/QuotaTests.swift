import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

/// Makes random writes with quotas that are equal to the amount of stored data after the write, to this amount minus
/// one, or to half of the amount.
@Suite(.ownThread)
struct QuotaTests {
    /// A quota and the amounts that it limits: one amount for the whole state, or an amount for each suite.
    private struct Bound {
        let quota: WritableKeyPath<Quotas, Int>
        /// Returns the amounts in a state by suite. An amount for the whole state has the key nil.
        let counts: (State) -> [SuiteName?: Int]

        static var all: [Bound] {
            [
                Bound(quota: \.suites) { [nil: $0.suites.count] },
                Bound(quota: \.totalBytes) { [nil: $0.size] },
                Bound(quota: \.keysPerSuite) { bySuite($0, \.keyCount) },
                Bound(quota: \.suiteBytes) { bySuite($0, \.size) },
            ]
        }

        private static func bySuite(_ state: State, _ count: (Suite) -> Int) -> [SuiteName?: Int] {
            Dictionary(uniqueKeysWithValues: state.suites.elements.map { ($0.id, count($0)) })
        }
    }

    private func sizes(_ state: State) -> [Int] { [state.size] + state.suites.elements.map(\.size) }

    /// A random write, which sometimes restores an earlier value.
    private func command(_ writes: inout RandomWrites, on state: State) throws -> WriteCommand {
        guard writes.random.chance(oneIn: 4), state.revision > .zero else { return try writes.next() }
        let revision = try #require(Revision(Int64(1 + writes.random.below(Int(state.revision.number)))))
        let suite = try SuiteName(writes.random.pick(PlainSuites.suiteNames))
        if writes.random.chance(oneIn: 3) {
            return .restore(suite, RestoreRequest(to: .revision(revision)), skipsConflicts: true)
        }
        return .undo(
            UndoRequest(revision, isForced: true), of: writes.random.chance(oneIn: 2) ? suite : nil,
            onConflict: writes.random.pick([ConflictPolicy.refuse, .keep, .reset]))
    }

    @Test("A write is refused if and only if the stored data after it exceeds a quota and has grown")
    func exact() throws {
        var (refused, allowed) = (0, 0)
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for random in FuzzBudget.generators(roundsFactor: 0.02) {
            var writes = try RandomWrites(random)
            var state = State(epoch: try #require(Epoch("e0")))
            var replayed = state
            for _ in 0..<120 {
                let request = WriteRequest(try command(&writes, on: state))
                let revision = try #require(state.revision.advanced(by: 1))
                let time = Timestamp(milliseconds: 1000)
                guard let decision = try? state.decide(request, revision: revision, time: time),
                    let commit = decision.commit
                else { continue }
                var after = state
                try after.apply(commit, schema: decision.schema)
                for bound in Bound.all {
                    let (oldCounts, newCounts) = (bound.counts(state), bound.counts(after))
                    let largest = newCounts.values.max() ?? 0
                    for limit in [largest, largest - 1, largest / 2] {
                        var quotas = Quotas.none
                        quotas[keyPath: bound.quota] = limit
                        let exceedsQuota = newCounts.contains { $0.value > limit && $0.value > oldCounts[$0.key] ?? 0 }
                        for isDryRun in [false, true] {
                            var request = request
                            request.isDryRun = isDryRun
                            let outcome = Result {
                                try state.decide(request, revision: revision, time: time, quotas: quotas)
                            }
                            let context: Comment = "seed \(random.seed), at \(revision), \(limit): \(request.command)"
                            guard case .failure(let problem as Problem) = outcome else {
                                try #require(!exceedsQuota, context)
                                allowed += 1
                                continue
                            }
                            try #require(exceedsQuota && problem.code == .insufficientStorage, "\(problem), \(context)")
                            try #require(problem.limit == Int64(limit) && problem.outcome == .notDone, context)
                            refused += 1
                        }
                    }
                }
                state = after
                try replayed.apply(try commit.writtenToJournalAndRead(on: replayed))
                try #require(sizes(replayed) == sizes(state), "seed \(random.seed), at \(revision)")
            }
        }
        #expect(refused > 100 && allowed > 100)
    }

    @Test("The size of a state counts no removed schema, no removed value and no dropped suite")
    func emptied() throws {
        var staged = StagedState(State(epoch: try #require(Epoch("e0"))))
        let app = try SuiteName("app")
        let schema = try Schema(["additionalProperties": true, "properties": ["a": ["type": "integer"]]])
        func write(_ command: WriteCommand) throws {
            _ = try staged.write(WriteRequest(command), at: Timestamp(milliseconds: 1))
        }
        try write(.mergeSuite(app, ["long name of a key": "a text of more than fifteen bytes", "b": [1, 2, 3]]))
        let first = staged.state.size
        // The sizes in docs/reference/limits.md: the suite, two settings, a name of 18 bytes, a text of 33 bytes, a
        // list of three values.
        #expect(first == 1024 + 2 * 64 + 80 + 96 + 120)
        try write(.setSchema(app, schema, onConflict: .refuse))
        #expect(staged.state.size > first)
        try write(.removeSchema(app))
        #expect(staged.state.size == first)
        try write(.resetSuite(app, prefix: ""))
        try write(.mergeSuite(app, ["long name of a key": "a text of more than fifteen bytes", "b": [1, 2, 3]]))
        #expect(staged.state.size == first)
        try write(.dropSuite(app))
        #expect(staged.state.size == 0)
    }
}
