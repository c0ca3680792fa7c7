import Foundation
import TestSupport
import Testing

/// Tests of `schema diff` with the built program. `SchemaComparisonTests` tests which changes are widening and which
/// are narrowing.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct SchemaDiffTests {
    private let shell: Shell

    init() throws {
        shell = try Shell(hasSchema: false)
    }

    private func writeSchema(_ name: String, _ properties: String) throws {
        let schema = #"{"type":"object","additionalProperties":false,"properties":{\#(properties)}}"#
        _ = try shell.directory.file(name, schema)
    }

    @Test("schema diff shows each change of the schema with its effect, then the settings that would change")
    func changes() throws {
        try writeSchema("old.json", #""a":{"type":"integer","default":1,"maximum":5},"b":{"type":"string"},"c":{}"#)
        try writeSchema(
            "new.json",
            #""a":{"type":"number","default":2,"maximum":4,"title":"A"},"c":{"readOnly":true},"d":{"type":"string"}"#)
        try shell.runTranscript(
            """
            $ settings schema diff app old.json | head -2
            + a: {"type":"integer","default":1,"maximum":5} (narrowing)
            + b: {"type":"string"} (narrowing)
            $ settings schema apply app old.json --quiet; settings schema diff app old.json
            the suite has the schema already
            $ settings schema diff app old.json --json
            $ settings schema diff app new.json
            ~ a default: 1 → 2
            ~ a maximum: 5 → 4 (narrowing)
            ~ a title: (none) → "A"
            ~ a type: "integer" → "number" (widening)
            - b: {"type":"string"} (narrowing)
            ~ c readOnly: (none) → true
            + d: {"type":"string"} (widening)
            a: 1 (default) → 2 (default)
            the schema would change
            => 2
            $ settings schema diff app new.json | sed '/^the /d' >diff; settings schema apply app new.json --dry-run | sed '/^the /d' | diff - diff
            $ settings schema diff app new.json --json | head -1
            {"schema":"changed","key":"a","keyword":"default","old":1,"new":2,"effect":"none"}
            $ settings schema diff app new.json --json | sed -n '5p;7p'
            {"schema":"removed","key":"b","old":{"type":"string"},"effect":"narrowing"}
            {"schema":"added","key":"d","new":{"type":"string"},"effect":"widening"}
            $ settings schema diff app new.json --json | grep -c '^{"suite":"app","key":"a","old":1,"value":2,'
            1
            """)
    }

    @Test("schema diff shows the changes and the stored values that the schema does not allow, and ends with 5")
    func conflicts() throws {
        try writeSchema("new.json", #""a":{"maximum":4}"#)
        try shell.runSettings("set", "app", "a=7")
        try shell.runTranscript(
            """
            $ settings schema diff app new.json --on-conflict refuse
            + a: {"maximum":4} (narrowing)
            ~ (suite) additionalProperties: true → false (narrowing)
            ! settings: the content of suite app does not match the schema: a: must be at most 4 (got 7); --on-conflict keep keeps these values, --on-conflict reset removes them
            !   a: must be at most 4 (got 7)
            => 5
            $ settings schema diff app new.json --json 2>errors | tail -1
            {"conflict":true,"key":"a","errors":["must be at most 4 (got 7)"]}
            $ echo '{"type":"object"}' | settings schema diff app -
            ! settings: the schema: additionalProperties is missing at the top level; set it to false to allow only the listed keys, or to a schema for all other keys
            => 5
            """)
    }

    @Test("schema diff does not show the default of a secret")
    func secrets() throws {
        try writeSchema("old.json", #""a":{"writeOnly":true,"default":"hunter2"}"#)
        try writeSchema("new.json", #""a":{"writeOnly":true,"default":"hunter3"}"#)
        try shell.runSettings("schema", "apply", "app", "\(shell.directory.path)/old.json", "--quiet")
        let text = try shell.run("settings schema diff app new.json")
        #expect(text.output.hasPrefix("~ a default: ••• → •••\n"))
        let json = try shell.run("settings schema diff app new.json --json")
        #expect(
            json.output.hasPrefix(#"{"schema":"changed","key":"a","keyword":"default","secret":true,"effect":"none"}"#))
        #expect(!(text.output + json.output).contains("hunter"))
    }
}
