import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsEngine

/// Estimates of the cost of answers, in units of `renderedUnit`: the cost of rendering one value or 8 bytes of text. An
/// event loop does not itself handle a request whose cost exceeds `loopLimit`.
@Suite(.ownThread)
struct CostTests {
    @Test(
        "A value costs one unit for itself and each nested value, and one unit for every 8 bytes of text",
        arguments: [
            ("null", 1), ("7", 1), (#""seven b""#, 1), (#""eight by""#, 2), ("[]", 1), ("[1,2,[3]]", 5),
            (#"{"a":1}"#, 2), (#"{"a name of sixteen":"text of sixteen "}"#, 6),
        ])
    func units(text: String, count: Int) throws {
        #expect(Cost.rendering(try JSONValue(parsing: text), within: .unlimited) == count * .renderedUnit)
    }

    @Test("An estimate stops once it exceeds the time or the memory of its limit")
    func limits() {
        let value = JSONValue.array(Array(repeating: 1, count: 1_000))
        // Each limit allows about ten units. The estimate may exceed the limit by a few units.
        let limits = [
            10 * Cost.renderedUnit, Cost(microseconds: .infinity, bytes: 80), Cost(microseconds: 0.6, bytes: .max),
        ]
        for limit in limits {
            let cost = Cost.rendering(value, within: limit)
            #expect(cost.exceeds(limit))
            #expect(!cost.exceeds(20 * .renderedUnit))
        }
        #expect(!Cost.rendering(value, within: .loopLimit).exceeds(.loopLimit))
    }

    @Test("The cost of a suite is the cost of its records, and an invalid record adds the cost of a validation")
    func suites() throws {
        var suite = Suite(try SuiteName("app"), revision: .zero, unknownKeyRevision: .zero)
        func put(_ key: String, _ valueSource: KeyRecord.ValueSource) throws {
            suite.put(
                KeyRecord(
                    key: try KeyName(key), stored: 1, valueSource: valueSource, revision: .zero,
                    modified: Timestamp(milliseconds: 0)))
        }
        // A record costs four units, and one unit for the value 1.
        for number in 0..<100 { try put("k\(number)", .stored) }
        #expect(suite.renderingCost(within: .unlimited) == 500 * .renderedUnit)
        try put("invalid", .invalid)
        #expect(suite.renderingCost(within: .unlimited).microseconds >= Cost.schemaRevalidation.microseconds)
        #expect(suite.renderingCost(within: .loopLimit).exceeds(.loopLimit))
    }

    @Test("The cost of a page of history depends on the size of the page, not on the size of the history")
    func history() throws {
        let suite = try SuiteName("app")
        var state = State(epoch: try #require(Epoch("e1")))
        for number in 0..<50 {
            let revision = try #require(state.revision.advanced(by: 1))
            let text = JSONValue.string(String(repeating: "x", count: 10_000) + "\(number)")
            let operation = Transaction.Operation(suite: suite, key: try KeyName("k\(number % 2)"), .set(text))
            let decision = try state.decide(
                WriteRequest(.setting(operation)), revision: revision, time: Timestamp(milliseconds: 1))
            if let commit = decision.commit { try state.apply(commit, schema: decision.schema) }
        }
        func costBytes(limit: Int, _ filter: KeyFilter = .everything, pageBytes: Int = 8 << 20) -> Int {
            let historyQuery = HistoryQuery(
                suite: suite, filter: filter, by: nil, before: nil, limit: limit, restrictedGrants: nil,
                pageBytes: pageBytes)
            return state.recentPast.renderingCost(of: historyQuery, within: .unlimited).bytes
        }
        // A page has the old and the new value of each change.
        #expect((20_000...25_000).contains(costBytes(limit: 1)))
        #expect((950_000...1_100_000).contains(costBytes(limit: 100)))
        #expect((60_000...100_000).contains(costBytes(limit: 100, pageBytes: 100_000)))
        // With a filter, the estimate ignores `limit`, because the page may skip many commits. All commits of this test
        // fit into `pageBytes`, so the estimate includes all commits.
        let filter = KeyFilter(keys: [try KeyName("k1")], prefixes: [])
        #expect(costBytes(limit: 1, filter) == costBytes(limit: 100, filter))
        #expect(costBytes(limit: 1, filter) <= 1_100_000)
    }
}
