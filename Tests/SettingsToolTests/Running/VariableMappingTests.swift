import SettingsModel
import Testing

@testable import settings

/// Tests of the variables that `settings run` makes from settings.
struct VariableMappingTests {
    private static func setting(
        _ key: String, _ value: JSONValue? = "x", in suite: String = "app", isSecret: Bool = false
    ) throws -> EffectiveSetting {
        EffectiveSetting(suite: try SuiteName(suite), key: try KeyName(key), value: value, isSecret: isSecret)
    }

    @Test(
        "The name of a variable is the key in capitals, with underscores between words",
        arguments: [
            ("theme", "THEME"), ("player.volume", "PLAYER_VOLUME"), ("launchCount", "LAUNCH_COUNT"),
            ("cache2Size", "CACHE2_SIZE"), ("maxURL", "MAX_URL"), ("HTTPPort", "HTTPPORT"), ("a-b/c d", "A_B_C_D"),
            ("_private", "_PRIVATE"), ("ALREADY_SET", "ALREADY_SET"),
        ])
    func name(_ key: String, _ name: String) throws {
        #expect(try VariableMapping().variables(of: [Self.setting(key)]) == [name: UTF8Text("x")])
    }

    @Test(
        "A string becomes a variable without quotation marks, and any other value becomes JSON",
        arguments: [
            ("a \"b\"\n", "a \"b\"\n"), (0.5, "0.5"), (true, "true"), (.null, "null"), (["a", 1], #"["a",1]"#),
            (.members(["a": "é"]), #"{"a":"é"}"#), ("", ""),
        ] as [(JSONValue, String)])
    func value(_ value: JSONValue, _ text: String) throws {
        #expect(try VariableMapping().variables(of: [Self.setting("a", value)]) == ["A": UTF8Text(text)])
    }

    @Test("Options select the keys, and change the names of the variables")
    func options() throws {
        let settings = [
            try Self.setting("web.port"), try Self.setting("web.host"), try Self.setting("theme"),
            try Self.setting("password", isSecret: true),
        ]
        let port = try KeyName("web.port")
        let cases: [(mapping: VariableMapping, names: Set<String>)] = [
            (VariableMapping(), ["WEB_PORT", "WEB_HOST", "THEME"]),
            (VariableMapping(keyPrefix: "web."), ["PORT", "HOST"]),
            (VariableMapping(keyPrefix: "web", namePrefix: "APP"), ["APP_PORT", "APP_HOST"]),
            (VariableMapping(namePrefix: "APP_", names: [port: "P"]), ["P", "APP_WEB_HOST", "APP_THEME"]),
            (VariableMapping(patterns: ["web.*", "none"]), ["WEB_PORT", "WEB_HOST"]),
            (VariableMapping(patterns: ["theme", "web"]), ["THEME"]),
            (VariableMapping(keyPrefix: "web.", patterns: ["*"], includesSecrets: true), ["PORT", "HOST"]),
            (VariableMapping(patterns: ["p*"], includesSecrets: true), ["PASSWORD"]),
        ]
        for (mapping, names) in cases {
            #expect(Set(try mapping.variables(of: settings).keys) == names, "\(mapping)")
        }
    }

    @Test("If settings cannot become variables, one error names each of these settings")
    func problems() throws {
        let advice = "; choose other names with --map, or fewer settings with --only"
        // The kernel allows 131,072 bytes for `B=`, the value and a final zero byte. This value is one byte too long.
        let long = String(repeating: "x", count: 131_070)
        let cases: [(settings: [EffectiveSetting], problems: String)] = [
            (
                [try Self.setting("theme"), try Self.setting("Theme", in: "net")],
                "app theme and net Theme both become THEME"
            ),
            ([try Self.setting("2nd")], "app 2nd becomes '2ND', which is not a valid name of a variable"),
            ([try Self.setting("größe")], "app größe becomes 'GRößE', which is not a valid name of a variable"),
            (
                [try Self.setting("a", "x\u{0}y"), try Self.setting("b", .string(long))],
                "the value of app a contains a zero byte; the value of app b has 131070 bytes, but the name, '=' and "
                    + "the value together may have at most 131071 bytes"
            ),
        ]
        for (settings, problems) in cases {
            let error = #expect(throws: ToolError.self) { try VariableMapping().variables(of: settings) }
            #expect(error?.message == "cannot make variables of the settings: \(problems)\(advice)")
            #expect(error?.code == .failed)
        }
        let fitting = JSONValue.string(String(long.dropLast()))
        #expect(try VariableMapping().variables(of: [Self.setting("b", fitting)]).count == 1)
    }

    @Test("With --secrets, a secret that the caller may not read is an error, which also names the other problems")
    func concealed() throws {
        // A caller that may not read a secret gets no value.
        let settings = [try Self.setting("password", nil, isSecret: true), try Self.setting("2nd")]
        #expect(try VariableMapping().variables(of: [settings[0]]).isEmpty)
        let error = #expect(throws: ToolError.self) {
            try VariableMapping(includesSecrets: true).variables(of: settings)
        }
        #expect(
            error?.message
                == "cannot make variables of the settings: app password is a secret, which this caller may not read; "
                + "app 2nd becomes '2ND', which is not a valid name of a variable; choose other names with --map, or "
                + "fewer settings with --only")
        #expect(error?.code == .unauthorized)
    }
}
