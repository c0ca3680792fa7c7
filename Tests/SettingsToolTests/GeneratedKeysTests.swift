import Foundation
import SettingsClient
import SettingsClientTesting
import TestSupport
import Testing

/// Tests of `schema generate`. `GeneratedKeys.swift` contains the expected declarations, and is compiled with the
/// tests.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. A `Shell` with `hasSchema: false`
/// applies no schema.
@Suite(.ownThread)
struct GeneratedKeysTests {
    private static let schema = #"""
        {"type":"object","additionalProperties":false,"title":"Generated","properties":{
         "launchCount":{"type":"integer","default":0,"minimum":0,"description":"Times the app was started"},
         "player.volume":{"type":"number","default":0.5,"minimum":0,"maximum":1},
         "temperature":{"type":"number","default":-1.5,"maximum":-1},
         "level":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10},
         "username":{"type":"string","maxLength":20},
         "token":{"type":"string","writeOnly":true,"pattern":"^[a-z\"\\\\]+$"},
         "theme":{"enum":["light","dark mode","default",""],"default":"dark mode"},
         "2nd-key":{"type":"boolean","default":true},
         "2nd.key":{"type":"boolean"},
         "class":{"type":"string","default":"a \"quoted\"\n\\text"},
         "URL":{"type":"string","default":""},
         "string":{"enum":["a","b"]},
         "retries":{"type":"integer","enum":[1,2,5],"default":2},
         "libraries":{"type":"array","items":{"type":"string"},"default":["a","b"]},
         "due":{"type":"string","format":"date-time","default":"2026-11-20T10:00:00Z"},
         "icon":{"type":"string","contentEncoding":"base64","default":"AAEC"},
         "labels":{"type":"object","default":{"a":[1,null,{"b":2.5}]}},
         "anything":{"default":[true,"x"]},
         "mixed":{"type":["string","integer"]}}}
        """#

    @Test("schema generate swift prints the declarations of GeneratedKeys.swift, which compile")
    func declarations() throws {
        let shell = try Shell(hasSchema: false)
        let file = try shell.directory.file("schema.json", Self.schema)
        try shell.runSettings("schema", "apply", "app", file, "--quiet")
        let compiled = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "GeneratedKeys.swift")
        let generated = try shell.runSettings("schema", "generate", "swift", "app")
        #expect(generated == (try String(contentsOf: compiled, encoding: .utf8)))
        let generatedFromFile = try shell.runSettings("schema", "generate", "swift", "--file", file)
        #expect(generatedFromFile == generated.replacing("the schema of app", with: "the schema of \(file)"))
    }

    @Test("Generated keys of many types pass checkSchema, and generated keys have the defaults of the schema")
    func agreement() async throws {
        let schema = try Schema(JSONValue(parsing: Self.schema))
        let defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys(), schema: schema)
        try await defaults.checkSchema {
            \.launchCount
            \.playerVolume
            \.temperature
            \.level
            \.username
            \.token
            \.theme
            \.retries
            \.libraries
            \.icon
            \.anything
        }
        #expect(defaults.theme == .darkMode && defaults.playerVolume == 0.5 && defaults.level == nil)
        #expect(defaults.key2ndKey && defaults.key2ndKey2 == nil && defaults.class == "a \"quoted\"\n\\text")
        #expect(defaults.due == Date(timeIntervalSince1970: 1_795_168_800) && defaults.icon == Data([0, 1, 2]))
        #expect(defaults.labels == ["a": [1, .null, ["b": 2.5]]] && defaults.anything == [true, "x"])
        #expect(defaults.string == nil && defaults.mixed == nil && defaults.retries == 2)
    }

    @Test("schema generate markdown prints a table of the keys, and schema generate refuses an unknown language")
    func table() throws {
        let shell = try Shell()
        #expect(
            try shell.runSettings("schema", "generate", "markdown", "--file", "\(shell.directory.path)/app.json")
                .contains("| `launchCount` | an integer from 0 | `0` | Times the app was started |\n"))
        let schema =
            #"{"title":"A | B","additionalProperties":false,"properties":{"a`b":{"type":"string","default":"x|y"}}}"#
        let file = try shell.directory.file("odd.json", schema)
        #expect(
            try shell.runSettings("schema", "generate", "markdown", "--file", file) == """
                # A | B

                | key | value | default | about |
                |---|---|---|---|
                | `` a`b `` | a text | `"x\\|y"` |  |

                """)
        let refused = try shell.settings("schema", "generate", "rust", "app")
        #expect(
            refused.code == 64
                && refused.errors.contains("settings schema generate takes swift or markdown, not 'rust'"))
    }
}
