import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct InMemorySuiteTests {
    private let name: SuiteName
    private let key: KeyName
    private let other: KeyName
    private var count = 0
    private var suite: InMemorySuite

    init() throws {
        name = try SuiteName("app")
        key = try KeyName("k")
        other = try KeyName("other")
        suite = InMemorySuite(name: name, schema: nil, epoch: try #require(Epoch("e")))
    }

    private mutating func commit(
        _ operations: Transaction.Operation..., if conditions: [Transaction.Condition] = []
    ) throws -> WriteSummary {
        count += 1
        return try suite.commit(
            Transaction(if: conditions, do: operations), requestKey: try #require(RequestKey("r\(count)")),
            at: Timestamp(milliseconds: 0))
    }

    private func set(_ key: KeyName, _ value: JSONValue) -> Transaction.Operation {
        Transaction.Operation(suite: name, key: key, .set(value))
    }

    @Test("Commits have revisions; what changes nothing is none")
    mutating func revisions() throws {
        let first = try commit(set(key, 1), set(other, 2))
        #expect(first.revision == Revision(1) && first.changes.map(\.key) == [key, other])
        #expect(
            first.changes.map(\.source) == [.stored, .stored] && first.changes.map(\.oldSource) == [.unset, .unset])
        let same = try commit(set(key, 1))
        #expect(!same.changed && same.revision == Revision(1) && same.changes == [])
        #expect(try commit(set(key, 1.0)).changed, "1.0 is another value than 1")
        #expect(suite.setting(key).revision == Revision(2) && suite.setting(other).revision == Revision(1))
    }

    @Test("Operations in place see what came before, and none is done if one fails")
    mutating func operations() throws {
        let add = Transaction.Operation(suite: name, key: key, .change(.add(2)))
        #expect(throws: Problem.self) { try commit(add) }
        _ = try commit(set(key, 1), add, add)
        #expect(suite.setting(key).value == 5)
        let problem = #expect(throws: Problem.self) {
            try commit(add, Transaction.Operation(suite: name, key: key, .change(.toggle)))
        }
        #expect(problem?.code == .invalidOperation)
        #expect(suite.setting(key).value == 5)
        _ = try commit(Transaction.Operation(suite: name, key: key, .delete))
        let error = #expect(throws: Problem.self) { try commit(add) }
        #expect(error?.code == .notSet)
    }

    @Test("Conditions tell what is there instead")
    mutating func conditions() throws {
        _ = try commit(set(key, 1))
        let holding: [Transaction.Condition] = [
            .setting(name, key, .revision(try #require(Revision(1)))), .setting(name, key, .stored(true)),
            .setting(name, key, .value(1.0)), .setting(name, other, .stored(false)),
            .suite(name, try #require(Revision(1))),
        ]
        _ = try commit(set(other, 1), if: holding)
        let failing: [Transaction.Condition] = [
            .setting(name, key, .revision(.zero)), .setting(name, key, .stored(true)),
            .setting(name, key, .value(2)), .setting(name, key, .stored(false)), .suite(name, .zero),
        ]
        let problem = #expect(throws: Problem.self) { try commit(set(other, 2), if: failing) }
        #expect(problem?.code == .preconditionFailed)
        #expect(problem?.failed.map(\.index) == [0, 2, 3, 4])
        #expect(problem?.failed.first?.current == .setting(suite.setting(key)))
        #expect(suite.setting(other).value == 1)
    }

    @Test("The same request key is the same write")
    mutating func requestKeys() throws {
        let requestKey = try #require(RequestKey("once"))
        let transaction = Transaction(do: [set(key, 1)])
        let time = Timestamp(milliseconds: 0)
        let first = try suite.commit(transaction, requestKey: requestKey, at: time)
        _ = try commit(set(key, 2))
        let again = try suite.commit(transaction, requestKey: requestKey, at: time)
        #expect(again.isReplayed && again.revision == first.revision && suite.setting(key).value == 2)
        let problem = #expect(throws: Problem.self) {
            try suite.commit(Transaction(do: [set(key, 3)]), requestKey: requestKey, at: time)
        }
        #expect(problem?.code == .idempotencyMismatch)
    }

    @Test("A schema gives defaults, normalises, and refuses")
    mutating func schema() throws {
        let schema = try Schema(
            JSONValue(
                parsing: #"""
                    {"type":"object","additionalProperties":false,"properties":{
                     "k":{"type":"integer","default":1,"maximum":5},"locked":{"readOnly":true}}}
                    """#))
        suite = InMemorySuite(name: name, schema: schema, epoch: try #require(Epoch("e")))
        #expect(suite.setting(key).source == .default && suite.setting(key).value == 1)
        _ = try commit(set(key, 2.0))
        #expect(suite.setting(key).value == 2)
        func code(_ operation: Transaction.Operation) -> ErrorCode? {
            #expect(throws: Problem.self) { try commit(operation) }?.code
        }
        #expect(code(set(key, 6)) == .invalidValue)
        #expect(code(set(other, 6)) == .unknownKey)
        #expect(code(set(try KeyName("locked"), 6)) == .locked)
        let removed = try commit(Transaction.Operation(suite: name, key: key, .delete))
        #expect(removed.changes.map(\.source) == [.default] && removed.changes.map(\.new) == [1])
    }

    @Test("Followers are told everything since their place, or the state where that is not kept")
    mutating func observing() throws {
        let start = suite.cursor
        #expect(suite.observation(since: start) == nil)
        for number in 1...3 { _ = try commit(set(key, .integer(Int64(number)))) }
        guard case .changes(let changes)? = suite.observation(since: start) else {
            Issue.record("no changes")
            return
        }
        #expect(changes.changes.map(\.new) == [1, 2, 3] && changes.cursor == suite.cursor)
        for number in 4...4000 { _ = try commit(set(key, .integer(Int64(number)))) }
        guard case .state(let state)? = suite.observation(since: start) else {
            Issue.record("no reset")
            return
        }
        #expect(state.isReset && state.suites.first?.values.map(\.value) == [4000])
    }

    @Test("A suite that does not exist has nothing to remove")
    mutating func absence() throws {
        let problem = #expect(throws: Problem.self) {
            try commit(Transaction.Operation(suite: name, key: key, .delete))
        }
        #expect(problem?.code == .unknownSuite)
    }
}
