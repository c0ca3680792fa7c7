import SettingsModel
import Testing

@testable import SettingsAPI

/// Tests of the JSON form of write commands. The journal contains this form for scheduled writes.
struct WriteCommandTests {
    private static func commands() throws -> [WriteCommand] {
        let (suite, key, revision) = (try SuiteName("app"), try KeyName("a"), try #require(Revision(7)))
        let text = #"{"additionalProperties": true, "properties": {}}"#
        let schema = try Schema(JSONValue(parsing: text), text: text)
        let set = Transaction.Operation(suite: suite, key: key, .set([1, .null]))
        // The list has a schema with the text that the client sent, and an equal schema without a text.
        return [
            .setting(set), .setting(Transaction.Operation(suite: suite, key: key, .delete)),
            .setting(Transaction.Operation(suite: suite, key: key, .change(.merge(["b": .null])))),
            .mergeSuite(suite, ["a": .null, "b": [1]]), .replaceSuite(suite, [:]), .resetSuite(suite, prefix: ""),
            .resetSuite(suite, prefix: "a"), .dropSuite(suite), .setSchema(suite, schema, onConflict: .reset),
            .setSchema(suite, try Schema(schema.document), onConflict: .refuse), .removeSchema(suite),
            .transaction(Transaction(if: [.suite(suite, revision)], do: [set, set])),
            .transaction(Transaction(do: [])), .undo(UndoRequest(revision), of: nil, onConflict: .refuse),
            .undo(UndoRequest(revision, isForced: true), of: suite, onConflict: .keep),
            .restore(suite, RestoreRequest(to: .revision(revision), prefix: "a"), skipsConflicts: true),
            .restore(suite, RestoreRequest(to: .revision(revision), keys: [key]), skipsConflicts: false),
        ]
    }

    @Test
    func `Reading the JSON of each command gives the command`() throws {
        for command in try Self.commands() {
            let text = command.jsonText()
            let read = try WriteCommand(json: JSONValue(parsing: text))
            #expect(read == command, "\(text)")
            // Schemas with different texts can be equal. Therefore the test also compares the JSON.
            #expect(read.jsonText() == text)
        }
    }

    @Test(arguments: [
        #"{"op":"setSchema","suite":"app","schema":{"properties":1}}"#,
        #"{"op":"setSchema","suite":"app","schemaText":"{"}"#,
        #"{"op":"removeSchema"}"#, #"{"op":"undo","revision":1,"onConflict":"skip"}"#, #"{"op":"unknown"}"#,
    ])
    func `JSON that describes no command is refused`(text: String) throws {
        let json = try JSONValue(parsing: text)
        #expect(throws: BodyError.self) { try WriteCommand(json: json) }
    }
}
