import SettingsModel
import Testing

@testable import SettingsClient

/// Writes of every kind, for files and for queues.
struct SampleWrites {
    let suite: SuiteName
    let key: KeyName
    let other: KeyName
    let owner: KeptOwner

    init() throws {
        suite = try SuiteName("com.example.app")
        key = try KeyName("k")
        other = try KeyName("ö/\"\\")
        owner = KeptOwner(server: "http://127.0.0.1:7070", suite: suite)
    }

    func operation(_ action: Transaction.Operation.Action, of key: KeyName? = nil) -> Transaction.Operation {
        Transaction.Operation(suite: suite, key: key ?? self.key, action)
    }

    func write(
        _ actions: Transaction.Operation.Action..., if conditions: [Transaction.Condition] = [],
        else conflict: SuiteWrite.Conflict = .refusal, as name: String = "a request"
    ) throws -> SuiteWrite {
        SuiteWrite(
            action: .transaction(Transaction(if: conditions, do: actions.map { operation($0) })),
            requestKey: try #require(RequestKey(name)), conflict: conflict)
    }

    /// What stores a number, by that number.
    func set(_ number: Int) throws -> SuiteWrite {
        try write(.set(.integer(Int64(number))), as: "request \(number)")
    }

    /// One of each kind.
    func all() throws -> [SuiteWrite] {
        let revision = try #require(Revision(17))
        let deep = (0..<127).reduce(JSONValue.integer(1)) { value, _ in [value] }
        let plans = [
            ChangePlan(base: nil, new: nil, delta: nil, start: nil),
            ChangePlan(base: .null, new: "x", delta: nil, start: .null),
            ChangePlan(base: 5, new: 6, delta: .sum(1), start: 0),
            ChangePlan(base: 1.5, new: -0.0, delta: .sum(.double(-1.5)), start: 0.0),
            ChangePlan(base: [], new: [deep], delta: .append([deep]), start: ["start"]),
            ChangePlan(base: "a", new: "ab", delta: .concat("b\u{0}"), start: nil),
            ChangePlan(base: ["a"], new: ["a", "b"], delta: .union(["b", .null]), start: []),
        ]
        return try [
            write(.set(.null)),
            write(.set(["text": "é\u{2028}\n", "deep": deep, "whole": 9_223_372_036_854_775_807, "double": 1e300])),
            write(.delete, if: [.setting(suite, key, .revision(revision)), .suite(suite, revision)]),
            write(.set(1), .change(.add(1)), .change(.toggle), if: [.setting(suite, other, .value(.null))]),
            write(.set(1), if: [.setting(suite, key, .stored(false))], else: .yielding),
            SuiteWrite(action: .reset, requestKey: #require(RequestKey(" ~"))),
        ] + plans.map { try write(.set(1), else: .change($0)) }
    }
}
