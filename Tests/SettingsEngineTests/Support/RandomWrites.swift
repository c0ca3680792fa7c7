import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport

/// Random writes to few suites and keys, so that several writes change the same key.
struct RandomWrites {
    var random: SeededGenerator
    private let schemas: [Schema]

    init(_ random: SeededGenerator) throws {
        self.random = random
        schemas = try PlainSchema.all.map { try Schema($0.document) }
    }

    mutating func next() throws -> WriteCommand {
        let suite = try SuiteName(random.pick(PlainSuites.suiteNames))
        switch random.below(16) {
        case 0..<7: return .setting(try randomOperation(in: suite))
        case 7, 8: return .mergeSuite(suite, randomValues())
        case 9: return .replaceSuite(suite, randomValues())
        case 10: return .resetSuite(suite, prefix: random.pick(["", "c", "c.", "z"]))
        case 11 where random.chance(oneIn: 3): return .dropSuite(suite)
        case 12:
            return .setSchema(
                suite, random.pick(schemas), onConflict: random.pick([ConflictPolicy.refuse, .keep, .reset]))
        case 13 where random.chance(oneIn: 3): return .removeSchema(suite)
        default:
            let operations = try (0..<random.below(5)).map { _ in
                try randomOperation(
                    in: random.chance(oneIn: 3) ? SuiteName(random.pick(PlainSuites.suiteNames)) : suite)
            }
            return .transaction(Transaction(do: operations))
        }
    }

    private mutating func randomOperation(in suite: SuiteName) throws -> Transaction.Operation {
        let key = try KeyName(random.pick(PlainSuites.keys))
        switch random.below(6) {
        case 0, 1: return Transaction.Operation(suite: suite, key: key, .delete)
        case 2: return Transaction.Operation(suite: suite, key: key, .change(.add(.integer(Int64(random.below(3))))))
        default: return Transaction.Operation(suite: suite, key: key, .set(randomValue()))
        }
    }

    private mutating func randomValues() -> JSONObject {
        var values = JSONObject()
        for _ in 0..<random.below(4) { values[random.pick(PlainSuites.keys)] = randomValue() }
        return values
    }

    private mutating func randomValue() -> JSONValue {
        random.pick([0, 1, 2, 5, 6, "x", "y", .null, true, ["m": 1], ["n": 2]])
    }
}
