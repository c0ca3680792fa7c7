import TestSupport
import Testing

/// Tests of `export` and `import` with the built program. The exit code 5 says that the daemon refuses a value, and 1
/// that the program cannot read or write a file.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. A `Shell` with `hasSchema: false`
/// applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct TransferTests {
    private let shell: Shell

    init() throws {
        shell = try Shell(hasSchema: false)
    }

    private static let schema = """
        {"type":"object","additionalProperties":false,"patternProperties":{"^label[.]":{"type":"string"}},"properties":{
        "count":{"type":"integer","default":3,"minimum":0},"name":{"type":"string","default":"none"},
        "ratio":{"type":"number"},"list":{"type":"array"},"password":{"type":"string","writeOnly":true}}}
        """

    private func applySchema() throws {
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", Self.schema))
    }

    @Test("The message of import names each key that the schema does not have, without a JSON pointer")
    func importOfUnknownKeys() throws {
        try applySchema()
        _ = try shell.directory.file("app.env", "count=1\nSIZE=2\nNAMES=3\n")
        let end = try shell.run("settings import app app.env")
        #expect(end.code == 5 && !end.errors.contains("/"), "\(end)")
        #expect(end.errors.contains("no key SIZE\n") && end.errors.contains("  NAMES: the schema"), "\(end)")
    }

    @Test("export prints stored values in the order of their keys")
    func exportSorted() throws {
        try shell.runSettings("set", "app", "b=2", "a={\"z\":1,\"y\":[]}", "c.d=text")
        let text = """
            {
              "a": {
                "z": 1,
                "y": []
              },
              "b": 2,
              "c.d": "text"
            }

            """
        #expect(try shell.runSettings("export", "app") == text)
        #expect(try shell.runSettings("export", "app", "--prefix", "b") == "{\n  \"b\": 2\n}\n")
        try shell.runSettings("unset", "app", "--all")
        #expect(try shell.runSettings("export", "app", "--at", "1") == text)
        #expect(try shell.runSettings("export", "app") == "{}\n")
    }

    @Test(
        "export --changed leaves out values that equal their defaults; --defaults adds defaults of keys without a value"
    )
    func exportChanged() throws {
        try applySchema()
        try shell.runSettings("set", "app", "count=3", "name=x")
        #expect(try shell.runSettings("export", "app", "--format", "env") == "count=3\nname=x\n")
        #expect(try shell.runSettings("export", "app", "--format", "env", "--changed") == "name=x\n")
        try shell.runSettings("unset", "app", "name")
        #expect(try shell.runSettings("export", "app", "--format", "env", "--defaults") == "count=3\nname=none\n")
    }

    @Test("export --without-secrets leaves out secrets")
    func exportWithoutSecrets() throws {
        try applySchema()
        try shell.runSettings("set", "app", "count=1", "password=hunter2")
        #expect(try shell.runSettings("export", "app", "--format", "env") == "count=1\npassword=hunter2\n")
        #expect(try shell.runSettings("export", "app", "--format", "env", "--without-secrets") == "count=1\n")
    }

    @Test("export prints all keys of a suite with more keys than one page of the daemon's answer")
    func exportPages() throws {
        let names = (0..<2500).map { "key\($0 + 1000)" }
        let text = "{\n" + names.map { "  \"\($0)\": \"\($0)\"" }.joined(separator: ",\n") + "\n}\n"
        try shell.runSettings("import", "app", try shell.directory.file("all.json", text), "--quiet")
        #expect(try shell.runSettings("export", "app") == text)
    }

    @Test("import of an exported file restores the values exactly", arguments: ["json", "env"])
    func roundTripExact(format: String) throws {
        let values = #"""
            {"big":9223372036854775807,"double":1.0,"emptyText":"","false":false,"list":[1,"2",{"b":null,"a":-0.0}],
            "looksLikeFalse":"false","looksLikeNull":"null","looksLikeNumber":"5","looksQuoted":"\"5\"",
            "lines":"a\nb\r\n","null":null,"quotes":"it's \"$HOME\" `x` \\ #no","small":5e-324,"umlaut":"é€😀",
            "accent":"'\u0301","blanks":"  a  b\t","equals":"a=b&c;d|e","tilde":"~/x","object":{"z":{"y":[]}}}
            """#
        try shell.runSettings("import", "app", try shell.directory.file("values.json", values))
        let exported = try shell.runSettings("export", "app")
        let file = try shell.directory.file(
            "values.\(format)", try shell.runSettings("export", "app", "--format", format))
        try shell.runSettings("set", "copy", "other=1")
        try shell.runSettings("import", "copy", file, "--replace")
        #expect(try shell.runSettings("export", "copy") == exported)
        #expect(try shell.runSettings("import", "app", file) == "nothing to change\n")
    }

    @Test("A shell reads the exact text of a setting from the file that export --format env writes")
    func shellReads() throws {
        let text = "it's \"$HOME\" `x` \\ #no\nsecond line, ~ & ;"
        try shell.runSettings("set", "app", "text", text)
        let end = try shell.run(
            "settings export app --format env > a.env; . ./a.env; printf '%s' \"$text\"")
        #expect(end == ChildProcess.End(code: 0, output: text, errors: ""))
    }

    @Test("export --format env ends with an error that names each key that a .env file cannot represent")
    func unrepresentableInEnvironment() throws {
        let schema = """
            {"type":"object","additionalProperties":true,"properties":{"both":{"type":["string","integer"]}}}
            """
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema))
        try shell.runSettings("set", "app", "--json", "good=1", "a b=1", "both=\"5\"")
        let end = try shell.settings("export", "app", "--format", "env")
        #expect(end.code == 1)
        #expect(end.output.isEmpty)
        #expect(end.errors.contains("  a b: a key must begin with a letter"))
        #expect(end.errors.contains("  both: a line cannot represent the value"))
        #expect(!end.errors.contains("good"))
    }

    @Test("import reads quotes, escapes, comments and export in .env as the shell does, with the types of the schema")
    func importEnvironment() throws {
        try applySchema()
        let lines = """
            \u{FEFF}# a comment
            export count=5
              name="5 \\"six\\" \\$x"' and '\\'s   # the rest

            label.first=7
            ratio=1.5
            list='[1, 2]'\r
            """
        try shell.runSettings("import", "app", try shell.directory.file("a.env", lines))
        #expect(
            try shell.runSettings("export", "app") == """
                {
                  "count": 5,
                  "label.first": "7",
                  "list": [
                    1,
                    2
                  ],
                  "name": "5 \\"six\\" $x and 's",
                  "ratio": 1.5
                }

                """)
    }

    @Test(
        "import refuses a malformed file with a message that names the file and the mistake, and stores nothing",
        arguments: [
            ("a.env", "a=1\nb=two words\n", "line 2: a value with blanks needs quotes: b='…'"),
            ("a.env", "a=$HOME", "line 1: $ has a meaning in the shell; quote the value: a='…'"),
            ("a.env", "a=\"`x`\"", "line 1: ` has a meaning in the shell"),
            ("a.env", "a=1\n\nb='open\n", "a quotation mark in the value of b is not closed"),
            ("a.env", "=1", "line 1: expected KEY=value"),
            ("a.env", "a=1\n2b=1", "line 2: expected KEY=value"), ("a.env", "a=1\na=2", "line 2: a occurs twice"),
            ("a.env", "2b=1\nok=1\nb=$x\n\na=1\nc='", "line 1: expected KEY=value\n  line 3: $ has a meaning"),
            ("a.env", "2b=1\nok=1\nb=$x\n\nc='", "='…'\n  line 5: a quotation mark in the value of c is not closed\n"),
            ("a.env", "a=~/x", "line 1: ~ has a meaning"), ("a.json", "[1]", "expected a JSON object of keys"),
            ("a.json", "{\"a\":1,\"a\":2}", "not valid JSON"), ("a.json", "{\"a\":1,\"..\":2}", "'..'"),
            ("a.json", "{\"a\":1", "not valid JSON"),
        ])
    func fileWithMistake(name: String, text: String, message: String) throws {
        try shell.runSettings("set", "app", "kept=1")
        let file = try shell.directory.file(name, text)
        let end = try shell.settings("import", "app", file)
        #expect(end.code != 0)
        #expect(end.errors.contains(message), "\(end.errors)")
        #expect(end.errors.contains(file))
        #expect(try shell.runSettings("export", "app", "--format", "env") == "kept=1\n")
    }

    @Test("import keeps keys that the file does not contain, and --replace removes them")
    func importReplaces() throws {
        try shell.runSettings("set", "app", "a=1", "b=2")
        let file = try shell.directory.file("values.json", "{\"b\":{\"x\":null},\"c\":3}")
        let dryRun = try shell.runSettings("import", "app", file, "--replace", "--dry-run")
        #expect(dryRun.contains("a: 1 → (unset)\n"))
        #expect(dryRun.contains("b: 2 → {\"x\":null}\n"))
        #expect(try shell.runSettings("export", "app", "--format", "env") == "a=1\nb=2\n")
        try shell.runSettings("import", "app", file, "--note", "from the old machine")
        #expect(try shell.runSettings("export", "app", "--format", "env") == "a=1\nb='{\"x\":null}'\nc=3\n")
        #expect(try shell.runSettings("history", "app", "--limit", "1").contains("from the old machine"))
        try shell.runSettings("import", "app", file, "--replace")
        #expect(try shell.runSettings("export", "app", "--format", "env") == "b='{\"x\":null}'\nc=3\n")
        #expect(try shell.runSettings("import", "app", file, "--replace") == "nothing to change\n")
    }

    @Test("import of values that the schema does not allow stores nothing, and names the key of each of these values")
    func importAllOrNothing() throws {
        try applySchema()
        let file = try shell.directory.file("values.json", "{\"name\":\"x\",\"count\":-1,\"ratio\":\"y\"}")
        let end = try shell.settings("import", "app", file)
        #expect(end.code == 5)
        #expect(end.errors.contains("count"))
        #expect(end.errors.contains("ratio"))
        #expect(try shell.runSettings("export", "app") == "{}\n")
    }

    @Test(
        "import of an unchanged export with locked keys succeeds, also with defaults; a changed locked key is refused")
    func lockedRoundTrip() throws {
        let schema = """
            {"type":"object","additionalProperties":{},"properties":{"build":{"readOnly":true},
            "level":{"type":"integer","readOnly":true,"default":3}}}
            """
        let shell = try Shell(["settings set app theme=dark build=7 --override --quiet"], hasSchema: false)
        _ = try shell.directory.file("locks.json", schema)
        try shell.runTranscript(
            """
            $ settings schema apply app locks.json
            level: (unset) → 3 (default)
            $ settings export app | settings import app -
            nothing to change
            $ settings export app --defaults | settings import app -
            nothing to change
            $ settings export app --defaults | settings import app - --replace
            nothing to change
            $ echo '{"build":8}' | settings import app - 2>/dev/null
            => 5
            """)
    }

    @Test("import and plan of an unchanged export succeed if the schema does not allow some of the values")
    func invalidRoundTrip() throws {
        let shell = try Shell(["settings set app a=5.0 b=2 c=x --quiet"], hasSchema: false)
        _ = try shell.directory.file(
            "narrow.json",
            #"{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","maximum":3},"b":{}}}"#)
        try shell.runTranscript(
            """
            $ settings schema apply app narrow.json --on-conflict keep --quiet; settings list app --changed
            a  integer  invalid  5.0
            b                    2
            c           invalid  "x"
            $ settings export app | settings import app -
            nothing to change
            $ settings export app | settings import app - --replace
            nothing to change
            $ (echo '{"suites":{"app":'; settings export app; echo '}}') | settings plan - --prune
            nothing to change
            $ settings export app | sed 's/2/3/' | settings import app -
            b: 2 → 3
            $ echo '{"a":6}' | settings import app -
            ! settings: a: must be at most 3 (got 6)
            => 5
            """)
    }

    @Test("import of an invalid key ends with 1; import of an unknown key and of a violation ends with 5")
    func exitCodes() throws {
        try Shell().runTranscript(
            #"""
            $ echo '{"":1}' | settings import app - 2>/dev/null
            => 1
            $ echo '{"suites":{"app":{"":1}}}' | settings plan - 2>/dev/null
            => 1
            $ echo '{"type":"object","additionalProperties":false,"properties":{"level":{"maximum":1}}}' >closed.json
            $ settings schema apply closed closed.json
            $ echo '{"level":2,"b":1}' | settings import closed -
            ! settings: the schema of suite closed has no key b
            !   level: must be at most 1 (got 2)
            => 5
            """#)
    }

    @Test("import reads standard input")
    func importStandardInput() throws {
        let end = try shell.run("echo 'a=1' | settings import app - --format env")
        #expect(end == ChildProcess.End(code: 0, output: "a: (unset) → 1\n", errors: ""))
    }
}
