import SettingsAPI
import SettingsEngine
import SettingsModel
import TestSupport
import Testing

/// All writes are decided on one thread, so no request may use much more time, or cause a much longer answer, than its
/// own size justifies.
@Suite(.ownThread)
struct WriteCostTests {
    private let suite: SuiteName
    private let key: KeyName
    private var state: State

    init() throws {
        suite = try SuiteName("app")
        key = try KeyName("k")
        state = State(epoch: try #require(Epoch("e0")))
    }

    private func decide(_ command: WriteCommand) throws -> WriteDecision {
        let revision = try #require(state.revision.advanced(by: 1))
        return try state.decide(WriteRequest(command), revision: revision, time: Timestamp(milliseconds: 1000))
    }

    /// Expects that a write is refused, and returns the problem.
    private func refusal(_ command: WriteCommand) -> Problem? {
        #expect(throws: Problem.self) { try decide(command) }
    }

    private mutating func write(_ command: WriteCommand) throws {
        let decision = try decide(command)
        if let commit = decision.commit { try state.apply(commit, schema: decision.schema) }
    }

    @Test("The time of a transaction is proportional to the number of suites that it creates")
    func manySuites() throws {
        let operations = try (0..<10_000).map { number in
            Transaction.Operation(suite: try SuiteName("s\(number)"), key: key, .set(1))
        }
        let decision = try expectLinearTime { try decide(.transaction(Transaction(do: operations))) }
        let commit = try #require(decision.commit)
        #expect(commit.suiteChanges.count == operations.count)
        #expect(commit.changes.count == operations.count)
    }

    @Test(
        "If many conditions on one setting fail, the problem lists four, and its detail names one and counts the others"
    )
    mutating func manyConditions() throws {
        try write(.setting(Transaction.Operation(suite: suite, key: key, .set(1))))
        let conditions = [Transaction.Condition](
            repeating: .setting(suite, key, .stored(false)), count: 1_000)
        let transaction = Transaction(
            if: conditions, do: [Transaction.Operation(suite: suite, key: key, .set(2))])
        let problem = refusal(.transaction(transaction))
        #expect(problem?.failed.map(\.index) == [0, 1, 2, 3])
        let detail = try #require(problem?.detail)
        #expect(detail.contains("\(key) of suite \(suite) has a stored value"), "\(detail)")
        #expect(detail.hasSuffix("; 999 more conditions failed"), "\(detail)")
    }

    @Test("A refusal lists all unknown keys, with suggestions for 16 keys, in linear time")
    mutating func manyUnknownKeys() throws {
        var properties = JSONObject()
        for number in 0..<2_000 { properties["key\(number)"] = ["type": "integer"] }
        let document: JSONValue = [
            "type": "object", "additionalProperties": false, "properties": .object(properties),
        ]
        try write(.setSchema(suite, try Schema(document), onConflict: .refuse))
        var values = JSONObject()
        for number in 0..<2_000 { values["kye\(number)"] = 1 }
        let problem = expectLinearTime { refusal(.mergeSuite(suite, values)) }
        #expect(problem?.errors.count == 2_000)
        let suggestionCount = problem?.errors.count { $0.detail.contains("did you mean") }
        #expect(suggestionCount == 16)
    }

    @Test("A change of a schema is refused if matching the keys with patterns of secrets would exceed the step budget")
    mutating func secretsOfSchema() throws {
        // `steps` is the budget of a request for matching and validation. To find the secrets of the old schema, the
        // engine matches each name with all its patterns, also with the first pattern, which is expensive. For the 50
        // names, 20,000 steps do not suffice, and 100,000 steps suffice.
        let document: JSONValue = [
            "type": "object", "additionalProperties": false,
            "patternProperties": ["^(?:a{0,10}){10}b?$": [:], "^secret[.]": ["writeOnly": true]],
        ]
        try write(.setSchema(suite, try Schema(document), onConflict: .refuse))
        for length in 10..<60 {
            let name = try KeyName(String(repeating: "a", count: length))
            try write(.setting(Transaction.Operation(suite: suite, key: name, .set(1))))
        }
        let schemaWithoutSecrets = try Schema(["type": "object", "additionalProperties": true])
        for command in [WriteCommand.removeSchema(suite), .setSchema(suite, schemaWithoutSecrets, onConflict: .keep)] {
            var request = WriteRequest(command)
            request.steps = 20_000
            let revision = try #require(state.revision.advanced(by: 1))
            #expect(throws: Problem.self) {
                try state.decide(request, revision: revision, time: Timestamp(milliseconds: 1000))
            }
            request.steps = 100_000
            _ = try state.decide(request, revision: revision, time: Timestamp(milliseconds: 1000))
        }
    }
}
