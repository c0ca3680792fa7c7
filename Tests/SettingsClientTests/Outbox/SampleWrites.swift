import SettingsAPI
import SettingsModel
import Testing

@testable import SettingsClient

/// Writes of every kind, for files and for queues.
struct SampleWrites {
    let suite: SuiteName
    let key: KeyName
    let other: KeyName
    let owner: FileOwner

    init() throws {
        suite = try SuiteName("com.example.app")
        key = try KeyName("k")
        other = try KeyName("ö/\"\\")
        owner = FileOwner(server: "http://127.0.0.1:7070", suite: suite)
    }

    func operation(_ action: Transaction.Operation.Action, of key: KeyName? = nil) -> Transaction.Operation {
        Transaction.Operation(suite: suite, key: key ?? self.key, action)
    }

    func write(
        _ actions: Transaction.Operation.Action..., if conditions: [Transaction.Condition] = [],
        else conflict: PendingChange.Conflict = .refusal, as name: String = "a request"
    ) throws -> PendingChange {
        PendingChange(
            action: .transaction(Transaction(if: conditions, do: actions.map { operation($0) })),
            requestKey: try #require(RequestKey(name)), conflict: conflict)
    }

    /// A write that stores a number.
    func set(_ number: Int) throws -> PendingChange {
        try write(.set(.integer(Int64(number))), as: "request \(number)")
    }

    /// One of each kind.
    func all() throws -> [PendingChange] {
        let revision = try #require(Revision(17))
        let deep = (0..<127).reduce(JSONValue.integer(1)) { value, _ in [value] }
        let plans = [
            PendingChange.Plan(base: nil, new: nil, delta: nil, start: nil),
            PendingChange.Plan(base: .null, new: "x", delta: nil, start: .null),
            PendingChange.Plan(base: 5, new: 6, delta: .sum(1), start: 0),
            PendingChange.Plan(base: 1.5, new: -0.0, delta: .sum(.double(-1.5)), start: 0.0),
            PendingChange.Plan(base: [], new: [deep], delta: .append([deep]), start: ["start"]),
            PendingChange.Plan(base: "a", new: "ab", delta: .concat("b\u{0}"), start: nil),
            PendingChange.Plan(base: ["a"], new: ["a", "b"], delta: .union(["b", .null]), start: []),
        ]
        return try [
            write(.set(.null)),
            write(.set(["text": "é\u{2028}\n", "deep": deep, "whole": 9_223_372_036_854_775_807, "double": 1e300])),
            write(.delete, if: [.setting(suite, key, .revision(revision)), .suite(suite, revision)]),
            write(.set(1), .change(.add(1)), .change(.toggle), if: [.setting(suite, other, .value(.null))]),
            write(.set(1), if: [.setting(suite, key, .stored(false))], else: .yielding),
            PendingChange(action: .reset, requestKey: #require(RequestKey(" ~"))),
        ] + plans.map { try write(.set(1), else: .merge($0)) }
    }
}
