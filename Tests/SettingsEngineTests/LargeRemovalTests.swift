import SettingsAPI
import SettingsEngine
import SettingsModel
import Testing

/// Removals of more keys than one commit may change. The test sets this limit (`commitKeys`) to three keys.
struct LargeRemovalTests {
    /// A state with four keys in the suite `app`, under a schema.
    private func state(_ schema: String) throws -> StagedState {
        var staged = StagedState(State(epoch: try #require(Epoch("e0"))))
        let time = Timestamp(milliseconds: 1000)
        let app = try SuiteName("app")
        let values: JSONObject = ["a": 1, "b": 2, "c": 3, "d": 4]
        _ = try staged.write(WriteRequest(.replaceSuite(app, values)), at: time)
        let schema = try Schema(JSONValue(parsing: schema))
        _ = try staged.write(WriteRequest(.setSchema(app, schema, onConflict: .keep)), at: time)
        staged.commitKeys = 3
        return staged
    }

    @Test("Emptying a suite with more keys than the limit of a commit is refused if its schema requires a key")
    func rules() throws {
        var staged = try state(#"{"type":"object","additionalProperties":true,"required":["a"]}"#)
        let before = staged.state.revision
        let problem = #expect(throws: Problem.self) {
            try staged.write(
                WriteRequest(.resetSuite(try SuiteName("app"), prefix: "")), at: Timestamp(milliseconds: 2000))
        }
        #expect(problem?.code == .invalidValue && problem?.errors.first?.keyword == "required")
        #expect(staged.state.revision == before)
    }

    @Test(
        "Emptying a suite whose schema requires no key removes some keys, and the answer has a request for the other keys"
    )
    func parts() throws {
        var staged = try state(#"{"type":"object","additionalProperties":true}"#)
        let app = try SuiteName("app")
        let (answer, commit) = try staged.write(
            WriteRequest(.resetSuite(app, prefix: "")), at: Timestamp(milliseconds: 2000))
        // `commit` is a `RetainedCommit`, which contains the commit.
        #expect(commit?.commit.changes.count == 3)
        let remainder = try #require(answer.remainder)
        let (lastAnswer, lastCommit) = try staged.write(remainder.request, at: Timestamp(milliseconds: 3000))
        #expect(lastCommit?.commit.changes.count == 1 && lastAnswer.remainder == nil)
        #expect(staged.state.suite(app)?.keyCount == 0)
    }
}
