import SettingsAPI
import SettingsModel
import Testing

@testable import SettingsClient

/// Sample writes for tests of outbox files, and of the queue of writes of a session.
struct SampleWrites {
    let suite: SuiteName
    let key: KeyName
    /// A key with characters that JSON escapes.
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

    /// Returns a write of the actions on `key`. `name` is the text of its request key.
    func write(
        _ actions: Transaction.Operation.Action..., if conditions: [Transaction.Condition] = [],
        else reaction: PendingChange.ConflictReaction = .fail, as name: String = "a request"
    ) throws -> PendingChange {
        PendingChange(
            action: .transaction(Transaction(if: conditions, do: actions.map { operation($0) })),
            requestKey: try #require(RequestKey(name)), onConflict: reaction)
    }

    /// A write that stores a number.
    func set(_ number: Int) throws -> PendingChange {
        try write(.set(.integer(Int64(number))), as: "request \(number)")
    }

    /// Returns one write of each kind.
    func all() throws -> [PendingChange] {
        let revision = try #require(Revision(17))
        // An array or an object that contains this array has 128 levels, the maximum of a value.
        let deep = (0..<127).reduce(JSONValue.integer(1)) { value, _ in [value] }
        let plans = [
            PendingChange.MergePlan(base: nil, new: nil, delta: nil, valueIfUnset: nil),
            PendingChange.MergePlan(base: .null, new: "x", delta: nil, valueIfUnset: .null),
            PendingChange.MergePlan(base: 5, new: 6, delta: .sum(1), valueIfUnset: 0),
            PendingChange.MergePlan(base: 1.5, new: -0.0, delta: .sum(.double(-1.5)), valueIfUnset: 0.0),
            PendingChange.MergePlan(base: [], new: [deep], delta: .append([deep]), valueIfUnset: ["start"]),
            PendingChange.MergePlan(base: "a", new: "ab", delta: .concat("b\u{0}"), valueIfUnset: nil),
            PendingChange.MergePlan(base: ["a"], new: ["a", "b"], delta: .union(["b", .null]), valueIfUnset: []),
        ]
        return try [
            write(.set(.null)),
            write(.set(["text": "é\u{2028}\n", "deep": deep, "whole": 9_223_372_036_854_775_807, "double": 1e300])),
            write(.delete, if: [.setting(suite, key, .revision(revision)), .suite(suite, revision)]),
            write(.set(1), .change(.add(1)), .change(.toggle), if: [.setting(suite, other, .value(.null))]),
            write(.set(1), if: [.setting(suite, key, .stored(false))], else: .keepStoredValue),
            // The first and the last character that a request key may contain.
            PendingChange(action: .removeAll, requestKey: #require(RequestKey(" ~"))),
        ] + plans.map { try write(.set(1), else: .merge($0)) }
    }
}
