import Testing

@testable import SettingsModel

struct SchemaComparisonTests {
    /// Old and new schemas of a key, and each changed keyword with its effect: `widening` if more values are allowed,
    /// `narrowing` if fewer values are allowed, and `none` if the same values are allowed. Any other change is
    /// `neither`. A change whose effect the comparison does not determine is also `neither`, for example a change of
    /// `properties` or of a `pattern`. The schema `false` is compared as `{"not":{}}`.
    private static let keywordCases: [(old: String, new: String, changes: [String])] = [
        (#"{"maximum":1}"#, #"{"maximum":1}"#, []),
        (#"{"maximum":1}"#, #"{"maximum":2}"#, ["maximum widening"]),
        (#"{"maximum":2}"#, #"{"maximum":1.5}"#, ["maximum narrowing"]),
        (#"{"maximum":1}"#, #"{"maximum":1.0}"#, ["maximum none"]),
        (#"{"minimum":1}"#, #"{"minimum":0}"#, ["minimum widening"]),
        (#"{"minimum":0}"#, #"{"exclusiveMinimum":0}"#, ["exclusiveMinimum narrowing", "minimum widening"]),
        (#"{"maxLength":3}"#, #"{}"#, ["maxLength widening"]),
        (#"{}"#, #"{"minLength":1}"#, ["minLength narrowing"]),
        (#"{"minLength":1}"#, #"{"minLength":2}"#, ["minLength narrowing"]),
        (#"{"multipleOf":4}"#, #"{"multipleOf":2}"#, ["multipleOf widening"]),
        (#"{"multipleOf":2}"#, #"{"multipleOf":3}"#, ["multipleOf neither"]),
        (#"{"type":"integer"}"#, #"{"type":"number"}"#, ["type widening"]),
        (#"{"type":"number"}"#, #"{"type":["integer"]}"#, ["type narrowing"]),
        (#"{"type":"string"}"#, #"{"type":["string","null"]}"#, ["type widening"]),
        (#"{"type":"string"}"#, #"{"type":"integer"}"#, ["type neither"]),
        (#"{"enum":["a","b"]}"#, #"{"enum":["b","a","c"]}"#, ["enum widening"]),
        (#"{"enum":["a","b"]}"#, #"{"enum":["b","a"]}"#, ["enum none"]),
        (#"{"const":1}"#, #"{"enum":[1.0,2]}"#, ["enum widening"]),
        (#"{"enum":["a"]}"#, #"{"enum":["b"]}"#, ["enum neither"]),
        (#"{"pattern":"^a"}"#, #"{"pattern":"^b"}"#, ["pattern neither"]),
        (#"{"pattern":"^a"}"#, #"{}"#, ["pattern widening"]),
        (#"{"items":{"maximum":1}}"#, #"{"items":{"maximum":3}}"#, ["items widening"]),
        (#"{"items":true}"#, #"{"items":{"type":"string"}}"#, ["items narrowing"]),
        (#"{}"#, #"{"items":false}"#, ["items narrowing"]),
        (
            #"{"items":{"maximum":1,"minimum":0}}"#, #"{"items":{"maximum":3,"minimum":1,"title":"x"}}"#,
            ["items neither"]
        ),
        (#"{"uniqueItems":true}"#, #"{"uniqueItems":false}"#, ["uniqueItems widening"]),
        (#"{}"#, #"{"uniqueItems":false}"#, ["uniqueItems none"]),
        (#"{"properties":{"a":true}}"#, #"{"properties":{"a":false}}"#, ["properties neither"]),
        (#"{"required":["a","b"]}"#, #"{"required":["a"]}"#, ["required widening"]),
        (#"{"anyOf":[{"type":"null"}]}"#, #"{"anyOf":[{"type":"null"},{"maximum":1}]}"#, ["anyOf widening"]),
        (#"{"allOf":[{"maximum":1}]}"#, #"{"allOf":[{"maximum":1},{"minimum":1}]}"#, ["allOf narrowing"]),
        (#"{"not":{"type":"null"}}"#, #"{}"#, ["not widening"]),
        (#"{"if":{"type":"null"},"then":false}"#, #"{"then":false}"#, ["if neither"]),
        (
            #"{"title":"a","default":1}"#, #"{"title":"b","readOnly":true}"#,
            ["default none", "readOnly none", "title none"]
        ),
        (#"true"#, #"{"x-note":"a"}"#, ["x-note none"]),
        (#"true"#, #"false"#, ["not narrowing"]),
    ]

    private static let samples = [
        "null", "true", "-1", "0", "0.5", "1", "1.5", "2", "3", "4", #""""#, #""a""#, #""b""#, #""c""#, #""abcd""#,
        "[]", "[1]", "[2,2]", #"["a"]"#, "[0,2]", "{}", #"{"a":1}"#, #"{"b":2}"#, #"{"a":1,"b":2}"#,
    ]

    @Test("Each changed keyword is reported with its effect", arguments: keywordCases)
    func keywords(old: String, new: String, changes: [String]) throws {
        let difference = try Self.difference(Self.suite(#""a":\#(old)"#), Self.suite(#""a":\#(new)"#))
        #expect(difference == changes.map { "a \($0)" })
    }

    @Test(
        "The effect of a single change agrees with the values that the validator allows before and after the change",
        arguments: keywordCases.filter { $0.changes.count == 1 })
    func soundness(old: String, new: String, changes: [String]) throws {
        let (before, after) = (try KeySchema(JSONValue(parsing: old)), try KeySchema(JSONValue(parsing: new)))
        for sample in Self.samples {
            let value = try JSONValue(parsing: sample)
            let (wasAllowed, isAllowed) = (before.allows(value), after.allows(value))
            if changes[0].hasSuffix("widening") || changes[0].hasSuffix("none") {
                #expect(!wasAllowed || isAllowed, "\(sample)")
            }
            if changes[0].hasSuffix("narrowing") || changes[0].hasSuffix("none") {
                #expect(wasAllowed || !isAllowed, "\(sample)")
            }
        }
    }

    /// Old and new schemas of a suite (empty: no schema), and the changes as ``difference(_:_:)`` returns them.
    private static let suiteCases: [(old: String, new: String, changes: [String])] = [
        (suite(""), suite(#""a":true"#), ["a added widening"]),
        (
            suite("", additionalProperties: "true"), suite(#""a":{"type":"string"}"#, additionalProperties: "true"),
            ["a added narrowing"]
        ),
        (
            suite("", additionalProperties: #"{"type":"string"}"#),
            suite(#""a":true"#, additionalProperties: #"{"type":"string"}"#),
            ["a added widening"]
        ),
        (suite(#""a":true"#), suite(""), ["a removed narrowing"]),
        (
            suite(#""a":{"maximum":1}"#, additionalProperties: "true"), suite("", additionalProperties: "true"),
            ["a removed widening"]
        ),
        (
            suite("", additionalProperties: "false"), suite("", additionalProperties: #"{"type":"string"}"#),
            ["- additionalProperties widening"]
        ),
        (
            suite("", additionalProperties: "true"), suite("", additionalProperties: "{}"),
            ["- additionalProperties none"]
        ),
        (
            #"{"additionalProperties":true,"patternProperties":{"^a":{"maximum":1}}}"#,
            #"{"additionalProperties":true,"patternProperties":{"^a":{"maximum":1}},"properties":{"a":{"minimum":0}}}"#,
            ["a added neither"]
        ),
        (suite(""), #"{"additionalProperties":false,"required":["b"],"type":"object"}"#, ["- required narrowing"]),
        ("", suite(#""a":{"type":"string"}"#), ["a added narrowing", "- additionalProperties narrowing"]),
    ]

    @Test(
        "Added keys, removed keys and changed rules of the suite are reported with their effects", arguments: suiteCases
    )
    func suites(old: String, new: String, changes: [String]) throws {
        #expect(try Self.difference(old, new) == changes)
    }

    @Test("A change of a secret is marked, whichever schema makes the key a secret")
    func secrets() throws {
        for (old, new) in [(#""a":{"writeOnly":true}"#, #""a":true"#), (#""a":true"#, #""a":{"writeOnly":true}"#)] {
            let difference = SchemaComparison(
                from: try Schema(JSONValue(parsing: Self.suite(old))),
                to: try Schema(JSONValue(parsing: Self.suite(new))))
            #expect(difference.changes.map(\.isSecret) == [true])
        }
    }

    private static func suite(_ properties: String, additionalProperties: String = "false") -> String {
        #"{"additionalProperties":\#(additionalProperties),"properties":{\#(properties)}}"#
    }

    /// Each change as a text: the key (`-` for the suite as a whole), the keyword or `added` or `removed`, and the
    /// effect. `old` is empty for a suite without a schema.
    private static func difference(_ old: String, _ new: String) throws -> [String] {
        let old = old.isEmpty ? nil : try Schema(JSONValue(parsing: old))
        return SchemaComparison(from: old, to: try Schema(JSONValue(parsing: new))).changes.map { change in
            let subject =
                switch change.subject {
                case .addedKey: "added"
                case .removedKey: "removed"
                case .keyword(let name): name
                }
            return "\(change.key ?? "-") \(subject) \(change.effect)"
        }
    }
}
