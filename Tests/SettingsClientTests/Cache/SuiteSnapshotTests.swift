import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite("What was known last")
struct SuiteSnapshotTests {
    private let suite: SuiteName
    private let keys: [KeyName]

    init() throws {
        suite = try SuiteName("app")
        keys = try ["a", "b", "c"].map { try KeyName($0) }
    }

    private func cursor(_ revision: Int64, _ epoch: String = "e") throws -> Cursor {
        Cursor(epoch: try #require(Epoch(epoch)), revision: try #require(Revision(revision)))
    }

    private func state(_ revision: Int64, _ values: [JSONValue], epoch: String = "e", isReset: Bool = false) throws
        -> ObservedState
    {
        let entries = zip(keys, values).map { SuiteContents.Entry(key: $0, value: $1) }
        let contents = SuiteContents(
            suite: suite, schemaRevision: try #require(Revision(2)), values: entries,
            invalid: [SchemaConflict(key: try KeyName("x"), stored: nil, errors: [])], secrets: [try KeyName("y")])
        return ObservedState(.one(contents), cursor: try cursor(revision, epoch), isReset: isReset)
    }

    private func change(_ revision: Int64, _ key: Int, _ value: JSONValue?, _ source: Source? = nil) throws -> Change {
        Change(
            suite: suite, key: keys[key], old: nil, new: value, oldSource: .unset,
            source: source ?? (value == nil ? .unset : .stored), revision: try #require(Revision(revision)),
            modified: Timestamp(milliseconds: 0))
    }

    private func changes(_ revision: Int64, _ changes: Change...) throws -> SettingsObservation {
        let scope = ObservedChanges.Scope.several(
            schemas: [SuiteRevision(suite: suite, revision: try #require(Revision(3)))], dropped: [], missing: [])
        return .changes(ObservedChanges(scope, cursor: try cursor(revision), changes: changes))
    }

    @Test("It reads back as the state that it was, also from its text")
    func roundTrip() throws {
        for state in [
            try state(5, [1, .null, "c"]), ObservedState(.several([], missing: [suite]), cursor: try cursor(5)),
        ] {
            let known = SuiteSnapshot(state, of: suite).state
            #expect(known == state)
            #expect(try ObservedState(json: JSONValue(parsing: known.jsonText())) == state)
        }
    }

    @Test("It is what following tells, and own writes are in it before they are told")
    func following() throws {
        var snapshot = SuiteSnapshot(try state(5, [1, 2, 3]), of: suite)
        let summary = WriteSummary(
            revision: try #require(Revision(8)), changed: true, changes: [try change(8, 0, "mine")])
        snapshot.take(summary)
        snapshot.take(try changes(7, change(6, 1, nil), change(7, 0, "theirs"), change(7, 2, nil, .invalid)))
        let version = snapshot.version
        snapshot.take(try changes(7, change(7, 0, "theirs")))
        snapshot.take(.state(try state(6, [0, 0, 0])))
        #expect(snapshot.version == version)
        var contents = try #require(snapshot.state.suites.first)
        #expect(contents.values.map(\.value) == ["mine"] && contents.schemaRevision == Revision(3))
        #expect(contents.invalid.map(\.key) == [keys[2], try KeyName("x")])
        #expect(try snapshot.state.cursor == cursor(7))
        snapshot.take(.state(try state(7, [0, 0, 0])))
        snapshot.take(try changes(9, change(8, 0, "mine"), change(9, 0, "newer")))
        contents = try #require(snapshot.state.suites.first)
        #expect(contents.values.map(\.value) == ["newer"])
        #expect(snapshot.version > version)
    }

    @Test("An own write ahead of a state that is told is not lost by it; another history is taken whole")
    func ahead() throws {
        var snapshot = SuiteSnapshot(try state(5, [1, 2]), of: suite)
        snapshot.take(
            WriteSummary(
                revision: try #require(Revision(8)), changed: true,
                changes: [try change(8, 0, nil), try change(8, 2, "new")]))
        snapshot.take(.state(try state(6, [1, 20])))
        #expect(snapshot.state.suites.first?.values.map(\.value) == [20, "new"])
        snapshot.take(.state(try state(3, ["other"], epoch: "f")))
        #expect(try snapshot.state.cursor == cursor(6))
        snapshot.take(.state(try state(3, ["other"], epoch: "f", isReset: true)))
        #expect(try snapshot.state == state(3, ["other"], epoch: "f"))
        snapshot.take(try changes(9, change(9, 0, "of the old history")))
        #expect(try snapshot.state == state(3, ["other"], epoch: "f"))
    }

    @Test("A suite that comes into being is one from then on")
    func beginning() throws {
        var snapshot = SuiteSnapshot(
            ObservedState(.several([], missing: [suite]), cursor: try cursor(5)), of: suite)
        snapshot.take(
            WriteSummary(revision: try #require(Revision(6)), changed: true, changes: [try change(6, 0, 1)]))
        #expect(snapshot.state.suites.first?.values.map(\.value) == [1])
    }

    @Test("Whatever is written and told, it comes to what the server has")
    func random() throws {
        for var random in FuzzBudget.generators(share: 0.05) {
            let server = InMemoryBackend(suite: suite)
            var snapshot = SuiteSnapshot(try server.load(), of: suite)
            var place = try server.load().cursor
            for _ in 0..<30 {
                let key = random.pick(keys)
                let action: Transaction.Operation.Action =
                    random.chance(oneIn: 4) ? .delete : .set(.integer(Int64(random.below(5))))
                let write = Transaction(do: [Transaction.Operation(suite: suite, key: key, action)])
                if let summary = try? server.commit(write, requestKey: .unique()), random.chance(oneIn: 2) {
                    snapshot.take(summary)
                }
                if random.chance(oneIn: 3), let observation = server.observation(since: place) {
                    snapshot.take(observation)
                    place = observation.cursor
                }
                if random.chance(oneIn: 10) {
                    let state = try server.load()
                    snapshot.take(.state(state))
                    place = snapshot.cursor
                }
            }
            if let observation = server.observation(since: place) { snapshot.take(observation) }
            let (known, expected) = (snapshot.state, try server.load())
            #expect(known.cursor == expected.cursor, "seed \(random.seed)")
            #expect(known.suites.first?.values ?? [] == expected.suites.first?.values, "seed \(random.seed)")
        }
    }
}
