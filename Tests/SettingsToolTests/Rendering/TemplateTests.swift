import Foundation
import TestSupport
import Testing

/// Tests of the language of templates, and of the error messages about templates.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. The schema declares the setting `key` a
/// secret. A `Shell` with `hasSchema: false` or with `tokens` applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct TemplateTests {
    private static let setupLines = [
        "settings set app theme=dark count=0 'odd key=1' player.volume=0.5 player.muted=true empty='' --quiet",
        #"settings set app 'hosts=[{"name":"a","port":80,"tags":["x","y"]},{"name":"b","port":81}]' none=[] --quiet"#,
        #"settings set app 'map={"k":1,"m":"two"}' "text=it's" large=1e20 'escape="a\u2028\"b"' --quiet"#,
        "settings set com.example.app port=8080 --quiet", "settings set app key=hunter2 null=null --quiet",
    ]

    /// The setting `x` of `app` and the suite `nothing` do not exist.
    private static let results: [(template: String, result: String)] = [
        // Values.
        ("{{ app.theme }}|{{app.player.volume}}|{{ app.player.muted }}|{{ app.null }}", "dark|0.5|true|null"),
        (#"{{ app."odd key" }} {{ app.player."volume" }} {{ app."player.volume" }}"#, "1 0.5 0.5"),
        (#"{{ "com.example.app".port }}"#, "8080"),
        (#"{{ app.hosts[1].name }} {{ app.map[m] }} {{ app.map["k"] }} {{ app.hosts[0].tags[1] }}"#, "b two 1 y"),
        (#"{{ "{{" }} }} {{ "}}" }} { } {{ "a\"}}" }}"#, #"{{ }} }} { } a"}}"#),
        ("é {{ app.theme }}", "é dark"),
        ("", ""), ("a\r\nb", "a\r\nb"),
        // Filters.
        ("{{ app.hosts[0] | json }}", #"{"name":"a","port":80,"tags":["x","y"]}"#),
        ("{{ app.theme | json }} {{ app.player.* | json }}", #""dark" {"muted":true,"volume":0.5}"#),
        ("{{ app.text | shell }} {{ app.empty|shell }} {{ app.theme | shell }}", #"'it'\''s' '' dark"#),
        ("{{ app.map | json | shell }}", #"'{"k":1,"m":"two"}'"#),
        ("{{ app.map | yaml }} {{ app.hosts[0].tags | yaml }}", #"{"k": 1, "m": "two"} ["x", "y"]"#),
        ("{{ app.large | yaml }} {{ app.escape | yaml }}", #"1.0e+20 "a\u2028\"b""#),
        ("{{ app.theme | upper }} {{ app.count | upper }}", "DARK 0"),
        (#"{{ app.x | default("d") }} {{ app.x | default(-1.5) }} {{ app.theme | default("d") }}"#, "d -1.5 dark"),
        (#"{{ app.x | upper | default( "a)b" ) | json }} {{ nothing.x | default(null) }}"#, #""a)b" null"#),
        (#"{{ app.hosts[7].name | default("none") }}"#, "none"),
        // Conditions.
        ("{{#if app.player.muted}}yes{{else}}no{{/if}}", "yes"),
        (
            "{{#if app.count}}1{{/if}}{{#if app.empty}}2{{/if}}{{#if app.none}}3{{/if}}{{#if app.null}}4{{/if}}"
                + "{{#if app.x}}5{{/if}}{{#if nothing.x}}6{{/if}}{{#if app.x.*}}7{{/if}}{{#if app.map[z]}}8{{/if}}", ""
        ),
        ("{{#if app.theme}}{{#if app.x}}a{{else}}b{{/if}}{{else}}c{{/if}}", "b"),
        // Loops.
        ("{{#each app.hosts as h}}{{ h.name }}:{{ h.port }} {{/each}}", "a:80 b:81 "),
        ("{{#each app.hosts as h , k,i}}{{ k }}{{ i }}{{/each}}", "0011"),
        ("{{#each app.map as v, k, i}}{{ i }}{{ k }}={{ v }};{{/each}}", "0k=1;1m=two;"),
        ("{{#each app.player.* as v, k}}{{ k }}={{ v }};{{/each}}", "muted=true;volume=0.5;"),
        ("{{#each app.none as n}}{{ n }}{{else}}nothing{{/each}}{{#each app.x.* as n}}{{else}}!{{/each}}", "nothing!"),
        (
            "{{#each app.hosts as h}}{{#if h.tags}}{{#each h.tags as t}}{{ h.name }}{{ t }} {{/each}}{{/if}}{{/each}}",
            "ax ay "
        ),
        ("{{#each app.map as app}}{{ app }}{{/each}}{{ app.theme }}", "1twodark"),
        // Lines.
        ("a\n{{! b }}\nc\n", "a\nc\n"), ("a {{! b }} c", "a  c"), ("a\n  {{! b\n }} d }} \r\nc", "a\n   d }} \r\nc"),
        ("a\n\t{{#if app.theme}}  \n  b\n{{else}}\nc\n{{/if}}\r\nd", "a\n  b\nd"),
        ("{{#each app.map as v}}\n{{#if v}}{{! c }}\n- {{ v }}\n{{/if}} {{/each}}\n", "\n- 1\n \n- two\n \n"),
        ("{{#if app.theme}}\na\n{{/if}}", "a\n"), ("{{ app.theme }}\n\n{{ app.theme }}\n", "dark\n\ndark\n"),
    ]

    @Test
    func `A template with settings, filters, blocks and comments is rendered to the expected text`() throws {
        let shell = try Shell(Self.setupLines, hasSchema: false)
        var tasks: [[String: String]] = []
        for (index, item) in Self.results.enumerated() {
            tasks.append(["template": try shell.directory.file("t\(index)", item.template), "to": "r\(index)"])
        }
        let configuration = String(decoding: try JSONEncoder().encode(tasks), as: UTF8.self)
        _ = try shell.directory.file("render.json", configuration)
        let end = try shell.run("settings render --config render.json")
        #expect(end.code == 0 && end.errors == "", "\(end)")
        for (index, item) in Self.results.enumerated() {
            #expect(shell.text("r\(index)") == item.result, "\(item.template)")
        }
    }

    /// Malformed templates, and the error messages from the line number on.
    private static let mistakes: [(template: String, message: String)] = [
        ("a\n é {{ app.theme", "2:4: the tag is not closed; }} is missing"),
        ("{{! a", "1:1: the tag is not closed; }} is missing"),
        (#"{{ app."theme }}"#, "1:8: the text is not closed; a quotation mark is missing"),
        (#"{{ app."a\x" }}"#, "1:8: a text in quotation marks must be a JSON string"),
        ("{{ }}", "1:4: a setting is missing; write SUITE.KEY"),
        ("{{ .a }}", "1:4: a setting is missing; found '.'; write SUITE.KEY"),
        ("{{ app }}", "1:4: a key after 'app' is missing; write app.KEY, or app.* for all keys"),
        ("{{ app. }}", "1:8: a name after the dot is missing; found ' '"),
        ("{{ app..a }}", "1:8: a name after the dot is missing; found '.'"),
        ("{{ a/b.c }}", "1:4: 'a/b': a suite name must consist of A-Z a-z 0-9 . _ -, but character 2 is '/'"),
        (#"{{ app."" }}"#, "1:8: '': a key must not be empty"),
        ("{{ app.a[ }}", "1:10: a name or a number in [] is missing; found ' '"),
        ("{{ app.a[0 }}", "1:11: ] is missing; found ' '"),
        ("{{ app.*.a }}", "1:9: expected | and a filter, or }}; found '.'"),
        ("{{ app.theme upper }}", "1:14: expected | and a filter, or }}; found 'u'"),
        ("{{ app.theme | }}", "1:16: a filter is missing after |"),
        (
            "{{ app.theme | uper }}",
            "1:16: there is no filter 'uper'; did you mean upper?; the filters are json, shell, yaml, upper, default"
        ),
        (
            "{{ app.x | default }}",
            #"1:19: ( is missing; write default("x"), or default(0) for a value that is not a text"#
        ),
        (
            "{{ app.x | default(x) }}",
            #"1:20: the default is not a JSON value; write default("x"), or default(0) for a value that is not a text"#
        ),
        (
            "{{ app.x | default({}) }}",
            #"1:20: the default is an object; write default("x"), or default(0) for a value that is not a text"#
        ),
        (#"{{ app.x | default("x" }}"#, "1:24: ) is missing"),
        ("{{ app.x | json(1) }}", "1:16: expected | and a filter, or }}; found '('"),
        (
            "{{#eech app.a as b}}{{/each}}",
            "1:3: there is no block '#eech'; did you mean each?; the blocks are #if and #each"
        ),
        ("a\n{{#if app.theme}}", "2:3: the block {{#if}} is not closed; {{/if}} is missing"),
        (
            "{{#if app.theme}}{{else}}{{#each app.a as b}}{{/each}}",
            "1:3: the block {{#if}} is not closed; {{/if}} is missing"
        ),
        ("{{#if app.theme}}{{/each}}", "1:20: expected {{/if}}; found {{/each}}"),
        ("{{/if}}", "1:3: {{/if}} closes no block"), ("{{ else }}", "1:4: {{else}} is in no block"),
        ("{{#if app.a}}{{else}}{{else}}{{/if}}", "1:24: the block has a second {{else}}"),
        ("{{#if app.a b}}{{/if}}", "1:13: expected }}; found 'b'"),
        ("{{#if a.b}}{{/if a}}", "1:18: expected }}; found 'a'"),
        (
            "{{#each app.a}}{{/each}}",
            "1:14: expected 'as' and a name for the element, as in {{#each app.hosts as host}}"
        ),
        ("{{#each app.a as }}{{/each}}", "1:18: a name is missing"),
        ("{{#each app.a as b, b}}{{/each}}", "1:21: the name 'b' is given twice"),
        ("{{#each app.a as b, c, d, e}}{{/each}}", "1:25: expected }}; found ','"),
        (
            "{{#each app.hosts as host}}{{ hots }}{{/each}}",
            "1:31: a key after 'hots' is missing; did you mean host?; write hots.KEY, or hots.* for all keys"
        ),
    ]

    @Test
    func `The error about a malformed template has the line, the column and the remedy`() throws {
        let shell = try Shell(hasSchema: false)
        for (index, item) in Self.mistakes.enumerated() { _ = try shell.directory.file("t\(index)", item.template) }
        let end = try shell.run(
            "for n in $(seq 0 \(Self.mistakes.count - 1)); do settings render t$n; [ $? = 1 ] || echo $n; done")
        #expect(end.output == "")
        let found = end.errors.split(separator: "\n").map(String.init)
        let expected = Self.mistakes.enumerated().map { "settings: cannot render t\($0):\($1.message)" }
        #expect(found.count == expected.count)
        for (found, expected) in zip(found, expected) { #expect(found == expected) }
        _ = try shell.run("printf '\\377' >bytes")
        #expect(
            try shell.settings("render", "\(shell.directory.path)/bytes").errors.hasSuffix(
                "bytes:1:1: the template is not valid UTF-8\n"))
    }

    /// Templates that do not fit the settings, and the error messages from the line number on.
    private static let misfits: [(template: String, message: String)] = [
        (
            "a\n{{ app.them }}",
            "2:4: the suite app has no setting 'them' that this caller may read; did you mean theme?"
        ),
        (
            "{{ app.unlike }}",
            #"1:4: the suite app has no setting 'unlike' that this caller may read; set it, or use | default("…")"#
        ),
        ("{{ ap.theme }}", "1:4: there is no suite ap; did you mean app?"),
        ("{{#each ap.* as a}}{{/each}}", "1:9: there is no suite ap; did you mean app?"),
        (
            "{{ com.example.theme }}",
            #"1:4: there is no suite com; a suite with a dot in its name needs quotation marks: "com.example""#
        ),
        ("{{ app.hosts }}", "1:4: the value is an array; use | json"),
        ("{{ app.map | upper }}", "1:4: the value is an object; use | json before this filter"),
        ("{{ app.hosts[0].nam }}", #"1:4: the object has no member "nam"; did you mean name?"#),
        ("{{ app.theme[0] }}", "1:4: a string has no members or elements"),
        (
            "{{#each app.theme as t}}{{/each}}",
            "1:9: #each takes an array, an object, app.* for all keys of the suite app, or app.player.* for its keys that "
                + "begin with player.; the value is a string"
        ),
        (
            "{{#each app.x as t}}{{/each}}",
            #"1:9: the suite app has no setting 'x' that this caller may read; set it, or use | default("…")"#
        ),
    ]

    @Test
    func `The error about a template that does not fit the settings has the line; other templates are rendered`() throws
    {
        let shell = try Shell(Self.setupLines, hasSchema: false)
        var tasks = [["template": try shell.directory.file("good", "{{ app.theme }}"), "to": "good.out"]]
        for (index, item) in Self.misfits.enumerated() {
            _ = try shell.directory.file("t\(index)", item.template)
            tasks.insert(["template": "t\(index)", "to": "r\(index)"], at: index)
        }
        let configuration = String(decoding: try JSONEncoder().encode(tasks), as: UTF8.self)
        _ = try shell.directory.file("render.json", configuration)
        let end = try shell.run("settings render --config render.json; ls r*")
        let found = end.errors.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("ls:") }
        #expect(found.count == Self.misfits.count)
        for (index, item) in Self.misfits.enumerated() where index < found.count {
            // All errors are one message, which begins with `settings: `.
            let prefix = index == 0 ? "settings: " : ""
            #expect(found[index] == "\(prefix)cannot render t\(index):\(item.message)")
        }
        #expect(end.output == "wrote good.out\nrender.json\n")
        #expect(shell.text("good.out") == "dark")
    }

    @Test
    func `Secrets are rendered only with --secrets, and only for a caller who may read them`() throws {
        let shell = try Shell(["settings set app key=hunter2 theme=dark --quiet"])
        _ = try shell.directory.file("t", "{{ app.key }}")
        _ = try shell.directory.file("all", "{{ app.* | json }}")
        try shell.runTranscript(
            """
            $ settings render t
            ! settings: cannot render t:1:4: app key is a secret; --secrets also renders secrets
            => 1
            $ settings render all
            ! settings: cannot render all:1:4: app key is a secret; --secrets also renders secrets
            => 1
            $ settings render t --secrets
            hunter2
            $ settings render t --secrets --to out; stat -c %a out
            wrote out
            600
            """)
        let shellWithTokens = try Shell(tokens: [
            "owner": "*:read,write,schema,secrets", "reader": "app:read", "other": "net:read",
        ])
        shellWithTokens.variables = ["SETTINGS_TOKEN_FILE=owner"]
        let schema = #"{"additionalProperties":{},"properties":{"key":{"writeOnly":true}}}"#
        _ = try shellWithTokens.directory.file("app.json", schema)
        _ = try shellWithTokens.directory.file("t", "{{ app.key }}")
        try shellWithTokens.runTranscript(
            """
            $ settings schema apply app app.json --quiet; settings set app key=hunter2 --quiet
            $ settings render t --token-file reader --secrets
            ! settings: cannot render t:1:4: app key is a secret, which this caller may not read
            => 6
            $ settings render t --token-file other
            ! settings: this request requires a grant such as app:read
            => 6
            """)
    }
}
