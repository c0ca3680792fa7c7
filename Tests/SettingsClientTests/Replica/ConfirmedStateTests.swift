import SettingsAPI
import SettingsHTTP
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// The confirmed state of the replica, which the cache file contains: the values without the effects of unconfirmed
/// writes.
struct ConfirmedStateTests {
    private let suite: SuiteName
    private let keys: [KeyName]

    init() throws {
        suite = try SuiteName("app")
        keys = try ["a", "b", "c"].map { try KeyName($0) }
    }

    @Test func `The confirmed state equals the adopted state, even after a conversion to JSON and back`() throws {
        let contents = SuiteContents(
            suite: suite, schemaRevision: try #require(Revision(2)),
            values: [SuiteContents.Entry(key: keys[0], value: .null), SuiteContents.Entry(key: keys[1], value: "b")],
            invalid: [SchemaConflict(key: try KeyName("x"), stored: nil, errors: [])], secrets: [try KeyName("y")])
        let state = ObservedState(
            .one(contents), cursor: Cursor(epoch: try #require(Epoch("e")), revision: try #require(Revision(5))))
        var replica = ReplicaState()
        #expect(replica.confirmed(of: suite) == nil)
        replica.adopt(state)
        let confirmed = try #require(replica.confirmed(of: suite))
        #expect(confirmed == state)
        #expect(try ObservedState(json: JSONValue(parsing: confirmed.jsonText())) == state)
    }

    @Test
    func `After random writes, the confirmed state equals the server state, and each change increases the version`()
        throws
    {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for var random in FuzzBudget.generators(roundsFactor: 0.05) {
            let server = InMemoryBackend(suite: suite)
            var replica = ReplicaState()
            replica.adopt(try server.load())
            for _ in 0..<30 {
                let version = replica.version
                let key = random.pick(keys)
                let action: Transaction.Operation.Action =
                    random.chance(oneIn: 4) ? .delete : .set(.integer(Int64(random.below(5))))
                let operations = [Transaction.Operation(suite: suite, key: key, action)]
                let requestKey = RequestKey.unique()
                replica.beginWrite(requestKey, operations)
                let change = PendingChange(action: .transaction(Transaction(do: operations)), requestKey: requestKey)
                if let summary = try? server.write(change) {
                    replica.acknowledge(requestKey, operations, summary)
                    #expect(replica.version > version || summary.changes.isEmpty, "seed \(random.seed)")
                } else {
                    replica.rollBack(requestKey, operations)
                }
                guard random.chance(oneIn: 3), let cursor = replica.cursor else { continue }
                if case .changes(let changes) = try server.changes(since: cursor) { replica.apply(changes) }
            }
            if let cursor = replica.cursor, case .changes(let changes) = try server.changes(since: cursor) {
                replica.apply(changes)
            }
            let (confirmed, expected) = (try #require(replica.confirmed(of: suite)), try server.load())
            #expect(confirmed.cursor == expected.cursor, "seed \(random.seed)")
            #expect(confirmed.suites.first?.values ?? [] == expected.suites.first?.values ?? [], "seed \(random.seed)")
        }
    }
}
