import Testing

@testable import SettingsModel

struct ViolationTests {
    /// A schema, a value, and the violations: keyword, message, value that the schema requires, and found value.
    typealias Case = ViolationCase

    static let scalars: [Case] = [
        Case(#"{"type": "string"}"#, "1", Violation("type", "must be a string (got an integer)", "string", was: 1)),
        Case(
            #"{"type": "integer"}"#, "1.5", Violation("type", "must be an integer (got 1.5)", "integer", was: 1.5)),
        Case(#"{"type": "boolean"}"#, "{}", Violation("type", "must be a boolean (got an object)", "boolean")),
        Case(#"{"type": "number"}"#, "[1]", Violation("type", "must be a number (got an array)", "number")),
        Case(
            #"{"type": ["null", "integer"]}"#, #""x""#,
            Violation("type", "must be an integer or null (got \"x\")", ["integer", "null"], was: "x")),
        Case("false", "1", Violation("false", "must not be present")),
        Case(#"{"const": 2}"#, "3", Violation("const", "must be 2 (got 3)", 2, was: 3)),
        Case(
            #"{"const": {"a": 1}}"#, #"{"a": 2}"#,
            Violation("const", "must be equal to the constant in the schema (got an object of 1 member)", ["a": 1])),
        Case(
            #"{"enum": ["a", 1, null]}"#, #""b""#,
            Violation("enum", "must be one of \"a\", 1, null (got \"b\")", ["a", 1, .null], was: "b")),
        Case(
            #"{"enum": []}"#, "1",
            Violation("enum", "cannot have a value, because enum in the schema is empty (got 1)", [], was: 1)),
        Case(
            #"{"enum": [0,1,2,3,4,5,6,7,8,9,10,11,12,13]}"#, "14",
            Violation(
                "enum", "must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more (got 14)",
                [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], was: 14)),
        Case(#"{"minimum": 1.5}"#, "1", Violation("minimum", "must be at least 1.5 (got 1)", 1.5, was: 1)),
        Case(#"{"maximum": 1}"#, "1.5", Violation("maximum", "must be at most 1 (got 1.5)", 1, was: 1.5)),
        Case(
            #"{"exclusiveMinimum": 1}"#, "1.0",
            Violation("exclusiveMinimum", "must be greater than 1 (got 1.0)", 1, was: 1.0)),
        Case(
            #"{"exclusiveMaximum": 1}"#, "1",
            Violation("exclusiveMaximum", "must be less than 1 (got 1)", 1, was: 1)),
        Case(
            #"{"multipleOf": 0.1}"#, "0.25",
            Violation("multipleOf", "must be a multiple of 0.1 (got 0.25)", 0.1, was: 0.25)),
        Case(
            #"{"minLength": 1}"#, #""""#,
            Violation("minLength", "must have at least 1 character (got 0)", 1, was: "")),
        Case(
            #"{"maxLength": 2}"#, #""a😀é""#,
            Violation("maxLength", "must have at most 2 characters (got 3)", 2, was: "a😀é")),
        Case(
            #"{"pattern": "^a+$"}"#, #""b""#,
            Violation("pattern", "must match the pattern ^a+$ (got \"b\")", "^a+$", was: "b")),
        Case(
            #"{"format": "ipv4"}"#, #""x""#,
            Violation("format", "must be an IPv4 address such as 192.0.2.1 (got \"x\")", "ipv4", was: "x")),
        Case(
            #"{"contentEncoding": "base64"}"#, #""YQ""#,
            Violation(
                "contentEncoding", "must be Base64 text with its padding (got \"YQ\")", "base64", was: "YQ")),
    ]

    static let containers: [Case] = [
        Case(#"{"minItems": 2}"#, "[1]", Violation("minItems", "must have at least 2 elements (got 1)", 2)),
        Case(#"{"maxItems": 1}"#, "[1, 2]", Violation("maxItems", "must have at most 1 element (got 2)", 1)),
        Case(
            #"{"uniqueItems": true}"#, "[0, 1, 2, 1.0]",
            Violation("uniqueItems", "must not repeat an element (got equal elements at the indexes 1 and 3)", true)),
        Case(
            #"{"contains": {"const": 1}}"#, "[]",
            Violation("contains", "must contain at least 1 element valid under the keyword contains (got 0)", 1)),
        Case(
            #"{"contains": {"const": 1}, "minContains": 2}"#, "[1]",
            Violation("minContains", "must contain at least 2 elements valid under the keyword contains (got 1)", 2)),
        Case(
            #"{"contains": {"const": 1}, "maxContains": 1}"#, "[1, 1]",
            Violation("maxContains", "must contain at most 1 element valid under the keyword contains (got 2)", 1)),
        Case(
            #"{"items": {"maximum": 1}}"#, "[1, 2]",
            Violation(at: "/1", "maximum", "must be at most 1 (got 2)", 1, was: 2)),
        Case(
            #"{"prefixItems": [true, false], "items": {"const": 0}}"#, "[1, 2, 3]",
            Violation(at: "/1", "false", "must not be present"),
            Violation(at: "/2", "const", "must be 0 (got 3)", 0, was: 3)),
        Case(
            #"{"properties": {"a/b": {"maximum": 1}}}"#, #"{"a/b": 2}"#,
            Violation(at: "/a~1b", "maximum", "must be at most 1 (got 2)", 1, was: 2)),
        Case(
            #"{"patternProperties": {"^a": {"maximum": 1}}}"#, #"{"ab": 2, "b": 3}"#,
            Violation(at: "/ab", "maximum", "must be at most 1 (got 2)", 1, was: 2)),
        Case(
            #"{"properties": {"colour": true}, "additionalProperties": false}"#, #"{"color": 2, "x": 1}"#,
            Violation(at: "/color", "additionalProperties", "the schema has no such member; did you mean colour?"),
            Violation(at: "/x", "additionalProperties", "the schema has no such member")),
        Case(
            #"{"additionalProperties": {"maximum": 1}}"#, #"{"b": 3}"#,
            Violation(at: "/b", "maximum", "must be at most 1 (got 3)", 1, was: 3)),
        Case(
            #"{"propertyNames": {"maxLength": 1}}"#, #"{"a": 1, "bc": 2}"#,
            Violation(
                at: "/bc", "propertyNames",
                "the name is not allowed: must have at most 1 character (got 2)")),
        Case(#"{"required": ["a"]}"#, "{}", Violation("required", "must have a", "a")),
        Case(
            #"{"dependentRequired": {"a": ["b", "c"]}}"#, #"{"a": 1}"#,
            Violation("dependentRequired", "must have b, because a is present", "b"),
            Violation("dependentRequired", "must have c, because a is present", "c")),
        Case(
            #"{"dependentSchemas": {"a": {"required": ["b"]}, "z": false}}"#, #"{"a": 1}"#,
            Violation("required", "must have b", "b")),
        Case(#"{"minProperties": 1}"#, "{}", Violation("minProperties", "must have at least 1 member (got 0)", 1)),
        Case(
            #"{"maxProperties": 0}"#, #"{"a": 1}"#,
            Violation("maxProperties", "must have at most 0 members (got 1)", 0)),
    ]

    static let combinations: [Case] = [
        Case(
            ##"{"$ref": "#/$defs/a", "$defs": {"a": {"maximum": 1}}}"##, "2",
            Violation("maximum", "must be at most 1 (got 2)", 1, was: 2)),
        Case(
            #"{"allOf": [{"maximum": 1}, true, {"maximum": 0}]}"#, "2",
            Violation("maximum", "must be at most 1 (got 2)", 1, was: 2),
            Violation("maximum", "must be at most 0 (got 2)", 0, was: 2)),
        Case(
            #"{"anyOf": [{"type": "string"}, {"maximum": 1}]}"#, "2",
            Violation(
                "anyOf",
                "must match one of 2 alternatives: must be a string (got an integer), or must be at most 1 (got 2)"
            )),
        Case(
            #"{"anyOf": [{"properties": {"a": {"type": "string"}}}]}"#, #"{"a": 1}"#,
            Violation("anyOf", "must match one of 1 alternative: at /a: must be a string (got an integer)")),
        Case(
            #"{"anyOf": [false, false, false, false, false]}"#, "2",
            Violation("anyOf", "must match one of 5 alternatives")),
        Case(
            #"{"oneOf": [{"type": "string"}, {"type": "null"}]}"#, "2",
            Violation(
                "oneOf",
                "must match one of 2 alternatives: must be a string (got an integer), or must be null (got an integer)"
            )),
        Case(
            #"{"oneOf": [true, false, {}]}"#, "2",
            Violation("oneOf", "must match exactly one of 3 alternatives (got 0 and 2, counted from 0)")),
        Case(#"{"not": {"type": "integer"}}"#, "2", Violation("not", "must not match the schema of the keyword not")),
        Case(
            #"{"if": {"minimum": 5}, "then": {"maximum": 6}, "else": {"minimum": 3}}"#, "7",
            Violation("maximum", "must be at most 6 (got 7)", 6, was: 7)),
        Case(
            #"{"if": {"minimum": 5}, "then": {"maximum": 6}, "else": {"minimum": 3}}"#, "2",
            Violation("minimum", "must be at least 3 (got 2)", 3, was: 2)),
    ]

    @Test(
        "The violations of each keyword have the expected messages and values",
        arguments: scalars + containers + combinations)
    func messages(sample: Case) throws {
        try sample.check()
    }

    @Test("The tables contain each keyword that a value can violate")
    func everyKeyword() throws {
        let all = Self.scalars + Self.containers + Self.combinations
        let used = Set(try all.flatMap { JSONValue.names(in: try JSONValue(parsing: $0.schema)) })
        let keywordsWithoutViolation: Set<SchemaKeyword> = [
            .schema, .comment, .default, .title, .description, .examples, .deprecated, .readOnly, .writeOnly,
        ]
        for keyword in SchemaKeyword.allCases where !keywordsWithoutViolation.contains(keyword) {
            #expect(used.contains(keyword.rawValue), "\(keyword)")
        }
    }

    @Test(
        "A rule for one kind of values allows values of all other kinds",
        arguments: [
            #"{"minimum": 5, "maximum": 1, "exclusiveMinimum": 5, "exclusiveMaximum": 1, "multipleOf": 7}"#,
            #"{"minLength": 5, "maxLength": 0, "pattern": "x", "format": "ipv4", "contentEncoding": "base64"}"#,
            #"{"minItems": 5, "uniqueItems": true, "contains": false, "items": false, "prefixItems": [false]}"#,
            #"{"minProperties": 5, "required": ["a"], "additionalProperties": false, "propertyNames": false}"#,
            #"{"minContains": 2, "maxContains": 0, "then": false, "else": false}"#,
        ])
    func otherKinds(text: String) throws {
        let schema = try KeySchema(JSONValue(parsing: text))
        // A text is of another kind for the rules for numbers, and a number for all other rules.
        let valueOfOtherKind: JSONValue = schema.document["minimum"] != nil ? "x" : 1
        for value: JSONValue in [.null, true, valueOfOtherKind] {
            #expect(schema.allows(value), "\(text) on \(value)")
        }
    }

    @Test("All violations are reported, at each location and of each keyword")
    func allViolations() throws {
        let schema = try KeySchema([
            "type": "object", "required": ["id"], "maxProperties": 1,
            "properties": [
                "name": ["type": "string", "minLength": 3, "pattern": "^[a-z]+$", "enum": ["abc"]],
                "list": ["maxItems": 1, "items": ["multipleOf": 2, "minimum": 10]],
            ],
        ])
        let found = schema.violations(of: ["name": "A", "list": [1, 20, 4]])
        #expect(
            found.map { "\($0.pointer) \($0.keyword)" } == [
                " required", " maxProperties", "/name enum", "/name minLength", "/name pattern", "/list maxItems",
                "/list/0 minimum", "/list/0 multipleOf", "/list/2 minimum",
            ])
    }

    @Test("At most a thousand violations are listed")
    func mostListed() throws {
        let schema = try KeySchema(["items": ["type": "string", "minimum": 5]])
        let found = schema.violations(of: .array(Array(repeating: 1, count: 5_000)))
        // Each element violates both rules.
        #expect(found.count == 1_000)
        #expect(found.last?.pointer == ["499"])
        let names = (0..<5_000).map { JSONValue.string("n\($0)") }
        #expect(try KeySchema(["required": .array(names)]).violations(of: [:]).count == 1_000)
    }

    @Test("The sentence of a violation begins with the key, or with the word value for a standalone schema")
    func sentences() throws {
        let schema = try Schema([
            "additionalProperties": false, "properties": ["player.volume": ["maximum": 1, "items": ["maximum": 1]]],
        ])
        let key = try #require(schema.key("player.volume"))
        #expect(key.violations(of: 1.5).map(\.sentence) == ["player.volume: must be at most 1 (got 1.5)"])
        #expect(key.violations(of: [2]).map(\.sentence) == ["player.volume at /0: must be at most 1 (got 2)"])
        #expect(Violation(at: "/a", "x", "is bad").sentence == "value at /a: is bad")
        #expect(Violation("x", "is bad").sentence == "value: is bad")
    }
}

extension JSONValue {
    /// The names of all members at every depth.
    fileprivate static func names(in value: JSONValue) -> [String] {
        switch value {
        case .array(let elements): elements.flatMap(names)
        case .object(let object): object.flatMap { [$0.name] + names(in: $0.value) }
        default: []
        }
    }
}

/// A value that a schema refuses, with the complete texts of its violations.
struct ViolationCase: Sendable, CustomTestStringConvertible {
    let name: String
    let schema: String
    let value: String
    let violations: [Violation]

    /// Creates a case whose name is the first violated keyword and the value.
    init(_ schema: String, _ value: String, _ violations: Violation...) {
        name = "\(violations.first?.keyword ?? "") of \(value)"
        self.schema = schema
        self.value = value
        self.violations = violations
    }

    var testDescription: String { name }

    func check() throws {
        let schema = try KeySchema(JSONValue(parsing: schema))
        let value = try JSONValue(parsing: value)
        #expect(schema.violations(of: value) == violations, "\(self.schema) on \(self.value)")
        #expect(schema.allows(value) == violations.isEmpty)
    }
}

extension Violation {
    /// Creates a violation: the location in the value as a JSON Pointer, the keyword, the message, the value that the
    /// schema requires, and the found value.
    init(
        at pointer: String = "", _ keyword: String, _ detail: String, _ expected: JSONValue? = nil,
        was actual: JSONValue? = nil
    ) {
        self.init(
            pointer: JSONPointer(pointer) ?? .root, keyword: keyword, detail: detail, expected: expected,
            actual: actual)
    }
}
