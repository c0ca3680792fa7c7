import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

@testable import SettingsWeb

/// The daemon decides whether a client has applied a revision. The test compares the decision with a search of all
/// commits.
@Suite(.ownThread)
struct ClientCommitTests {
    private static let suites = ["app", "net"]
    private static let keys = ["a", "b", "c.d"]
    private static let commitCount: Int64 = 60

    /// Returns a state after random commits in both suites, and these commits.
    private func history(
        _ random: inout SeededGenerator, limits: History.Limits
    ) throws -> (state: State, commits: [Commit]) {
        var state = State(epoch: try #require(Epoch("e0")), limits: limits)
        var commits: [Commit] = []
        for number in 1...Self.commitCount {
            let revision = try #require(Revision(number))
            let time = Timestamp(milliseconds: number)
            let suite = try SuiteName(random.pick(Self.suites))
            var commit = Commit(revision: revision, time: time)
            if state.hasSuite(suite) {
                let key = try KeyName(random.pick(Self.keys))
                let old = state.suite(suite)?.record(key).stored
                commit.changes = [
                    Change(
                        suite: suite, key: key, old: old, new: .integer(number),
                        oldSource: old == nil ? .unset : .stored,
                        source: .stored, revision: revision, modified: time)
                ]
            } else {
                commit.suiteChanges = [SuiteChange(suite: suite, kind: .created)]
            }
            try state.apply(commit)
            commits.append(commit)
        }
        return (state, commits)
    }

    /// The filters of the clients: a key, a prefix of keys, a key that never changes, and all keys.
    private func filters() throws -> [KeyFilter] {
        [
            KeyFilter(keys: [try KeyName("a")], prefixes: []), KeyFilter(keys: [], prefixes: ["c."]),
            KeyFilter(keys: [try KeyName("zz")], prefixes: []), .everything,
        ]
    }

    @Test(
        "A client has applied revision N if no commit after its reported revision, up to N, concerns the client",
        arguments: 0..<20)
    func randomHistory(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var limits = History.Limits()
        // With an odd seed, the history evicts most commits.
        if seed % 2 == 1 { (limits.commits, limits.suiteCommits) = (20, 5) }
        let (state, commits) = try history(&random, limits: limits)
        let name = try SuiteName("app")
        let suite = try #require(state.suite(name))
        let filters = try filters()
        // All calls have the time 1, so no client is gone.
        var table = ClientTable(forgetTime: 90)
        let time = ClientTable.Time(monotonic: 1, wall: Timestamp(milliseconds: 1))
        for number in 0..<60 {
            let revision = try #require(Revision(Int64(random.below(Int(Self.commitCount) + 1))))
            let applied = Cursor(epoch: state.epoch, revision: revision)
            // The clients may read everything, so `restrictedGrants` is nil.
            let received = ReceivedReport(
                name: try #require(ClientName("n\(number)")), report: ClientReport(applied: applied), caller: nil,
                peer: .unknown, restrictedGrants: nil, filter: random.pick(filters))
            _ = try table.record(received, of: [name], startsWatch: false, on: state, at: time)
        }
        let listed = table.clients(of: name, at: 1)
        var comparison = ClientComparison(listed, in: suite, on: state)
        for number in 0...Self.commitCount {
            let target = try #require(Revision(number))
            var requirement = CommitRequirement(of: target, in: suite, on: state)
            // For each client that watches a part of the suite, searches for the last commit that concerns the client.
            requirement.search(ConvergenceTally(table, requirement, at: 1).unsearchedSubjects, on: state)
            for client in listed.map(\.client) {
                let applied = try #require(client.applied)
                let missing = commits.filter { commit in
                    // A client without a subject watches the whole suite.
                    let subject = client.subject?.watchSubject ?? WatchSubject(name)
                    return commit.revision > applied && commit.revision <= target && subject.matches(commit)
                }
                let context: Comment = "seed \(seed), target \(target), client \(client.name) at \(applied)"
                let outcome = requirement.outcome(of: client)
                // True if the history has all commits after the applied revision.
                let isKnown = applied >= state.oldestAvailable(of: name)
                #expect((outcome == .applied) == missing.isEmpty || !isKnown, context)
                #expect(outcome != .applied || missing.isEmpty, context)
                let lacksTarget = comparison.lacksCommits(upTo: target, client)
                #expect(lacksTarget == !missing.isEmpty || !isKnown, context)
                guard isKnown, number == Self.commitCount else { continue }
                let missingCommits = comparison.missingCommits(of: client)
                let found = try #require(missingCommits)
                #expect(found.count == missing.count && found.first?.revision == missing.first?.revision, context)
            }
        }
    }
}
