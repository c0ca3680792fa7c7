import Testing

@testable import SettingsModel

struct NormalizationTests {
    /// A schema, a value, and the normalized value, each as JSON.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let schema: String
        let value: String
        let normalized: String

        init(_ name: String, _ schema: String, _ value: String, _ normalized: String) {
            self.name = name
            self.schema = schema
            self.value = value
            self.normalized = normalized
        }

        var testDescription: String { name }
    }

    static let integer = #"{"type": "integer"}"#

    static let changed: [Case] = [
        Case("the value itself", integer, "1.0", "1"),
        Case("an exponent", integer, "1e3", "1000"),
        Case("minus zero", integer, "-0.0", "0"),
        Case("2 to the 53rd", integer, "9007199254740992.0", "9007199254740992"),
        Case("minus 2 to the 53rd", integer, "-9007199254740992.0", "-9007199254740992"),
        Case("a list of types with integer", #"{"type": ["integer", "string", "null"]}"#, "2.0", "2"),
        Case("properties", #"{"properties": {"a": \#(integer)}}"#, #"{"b": 1.0, "a": 1.0}"#, #"{"b": 1.0, "a": 1}"#),
        Case("items", #"{"items": \#(integer)}"#, "[1.0, 1.5, 2.0]", "[1, 1.5, 2]"),
        Case("prefixItems", #"{"prefixItems": [true, \#(integer)]}"#, "[1.0, 1.0, 1.0]", "[1.0, 1, 1.0]"),
        Case("items after prefixItems", #"{"prefixItems": [true], "items": \#(integer)}"#, "[1.0, 1.0]", "[1.0, 1]"),
        Case(
            "additionalProperties", #"{"properties": {"a": true}, "additionalProperties": \#(integer)}"#,
            #"{"a": 1.0, "b": 1.0}"#, #"{"a": 1.0, "b": 1}"#),
        Case(
            "additionalProperties beside patterns",
            #"{"patternProperties": {"^a": true}, "additionalProperties": \#(integer)}"#,
            #"{"ab": 1.0, "b": 1.0}"#, #"{"ab": 1.0, "b": 1}"#),
        Case("$ref", ##"{"$ref": "#/$defs/i", "$defs": {"i": \##(integer)}}"##, "1.0", "1"),
        Case("allOf", #"{"allOf": [true, \#(integer)]}"#, "1.0", "1"),
        Case("number and integer in one allOf", #"{"type": "number", "allOf": [\#(integer)]}"#, "1.0", "1"),
        Case(
            "properties, allOf, $ref, items and additionalProperties together",
            ##"""
            {"properties": {"list": {"allOf": [{"$ref": "#/$defs/list"}]}},
             "$defs": {"list": {"items": {"additionalProperties": {"$ref": "#/$defs/i"}}}, "i": {"type": "integer"}}}
            """##,
            #"{"list": [{"a": 1.0}, 2.0, {"b": 3.0, "c": 0.5}]}"#, #"{"list": [{"a": 1}, 2.0, {"b": 3, "c": 0.5}]}"#),
        Case(
            "two schemas for one element", #"{"prefixItems": [true], "allOf": [{"items": \#(integer)}]}"#, "[1.0]",
            "[1]"
        ),
        Case("recursion", ##"{"type": "integer", "items": {"$ref": "#"}}"##, "[[[1.0], 2.0]]", "[[[1], 2]]"),
    ]

    /// Values that are not integral doubles, integral doubles beyond 2⁵³, integral doubles that need not be integers,
    /// and integral doubles below keywords that normalization does not follow. Normalization follows `properties`,
    /// `items`, `prefixItems`, `additionalProperties`, `$ref` and `allOf`.
    static let kept: [Case] = [
        ("a fraction", integer, "1.5"),
        ("beyond 2 to the 53rd", integer, "9007199254740994.0"),
        ("a huge number", integer, "1e300"),
        ("an integer", integer, "1"),
        ("number", #"{"type": "number"}"#, "1.0"),
        ("integer and number", #"{"type": ["integer", "number"]}"#, "1.0"),
        ("no type", "{}", "1.0"),
        ("true", "true", "1.0"),
        ("anyOf", #"{"anyOf": [\#(integer)]}"#, "1.0"),
        ("oneOf", #"{"oneOf": [\#(integer)]}"#, "1.0"),
        ("not", #"{"not": {"not": \#(integer)}}"#, "1.0"),
        ("if, then and else", #"{"if": \#(integer), "then": \#(integer), "else": \#(integer)}"#, "1.0"),
        ("patternProperties", #"{"patternProperties": {"a": \#(integer)}}"#, #"{"a": 1.0}"#),
        ("contains", #"{"contains": \#(integer)}"#, "[1.0]"),
        ("dependentSchemas", #"{"dependentSchemas": {"a": {"properties": {"a": \#(integer)}}}}"#, #"{"a": 1.0}"#),
        ("const and enum", #"{"const": 1, "enum": [1]}"#, "1.0"),
        ("an unused definition", #"{"$defs": {"a": \#(integer)}}"#, "1.0"),
        ("values that are not numbers", integer, #"["a", null, true, {"b": 1.0}]"#),
    ].map { Case($0.0, $0.1, $0.2, $0.2) }

    @Test(
        "An integral double up to 2⁵³ becomes an integer if a `type` for it lists integer, but not number",
        arguments: changed)
    func changedValues(sample: Case) throws {
        let schema = try KeySchema(JSONValue(parsing: sample.schema))
        let normalized = schema.normalized(try JSONValue(parsing: sample.value))
        #expect(normalized == (try JSONValue(parsing: sample.normalized)))
        #expect(schema.normalized(normalized) == normalized)
    }

    @Test("Any other value is returned unchanged", arguments: kept)
    func unchangedValues(sample: Case) throws {
        let schema = try KeySchema(JSONValue(parsing: sample.schema))
        let value = try JSONValue(parsing: sample.value)
        #expect(schema.normalized(value) == value)
    }

    @Test
    func `A listed key is normalized under its own schema, and another key under additionalProperties`() throws {
        let schema = try Schema([
            "properties": ["a": ["type": "integer"]], "additionalProperties": ["items": ["type": "integer"]],
        ])
        #expect(schema.key("a")?.normalized(4.0) == 4)
        #expect(schema.key("other")?.normalized([1.0, 0.5]) == [1, 0.5])
        #expect(schema.key("other")?.normalized(1.0) == 1.0)
    }

    @Test("The members of a normalized object keep their order")
    func order() throws {
        let schema = try KeySchema(["additionalProperties": ["type": "integer"]])
        let members = (0..<40).map { JSONObject.Member(name: "k\(($0 * 7) % 40)", value: .double(Double($0))) }
        let value = try #require(JSONObject(members))
        let normalized = try #require(schema.normalized(.object(value)).object)
        #expect(Array(normalized.names) == Array(value.names))
        #expect(normalized.members.map(\.value) == (0..<40).map { .integer($0) })
    }
}
