import Testing

@testable import SettingsModel

struct KeywordProblemTests {
    /// The location of a problem as a JSON Pointer, the keyword, and a part of the message.
    typealias Problem = BadSchema.Problem

    /// Returns a schema with an unknown keyword, and its problem.
    private static func unknown(_ keyword: String, _ part: String) -> BadSchema {
        BadSchema(keyword, "{\"\(keyword)\": 1}", Problem("/\(keyword)", keyword, part, isUnsupported: true))
    }

    @Test(
        "An unknown keyword is refused by name, and the message says what to write instead",
        arguments: [
            unknown("maxmum", "maxmum is not a supported keyword; did you mean maximum?"),
            unknown("Type", "did you mean type?"),
            unknown("propertes", "did you mean properties?"),
            unknown("readonly", "did you mean readOnly?"),
            unknown("X-unit", "is not a supported keyword"),
            unknown("$id", "within the document, as in #/$defs/name"),
            unknown("id", "within the document, as in #/$defs/name"),
            unknown("$anchor", "refer to the definition by its pointer"),
            unknown("$dynamicRef", "use $ref"),
            unknown("$dynamicAnchor", "refer to the definition by its pointer"),
            unknown("$vocabulary", "remove it, because the vocabulary is fixed"),
            unknown("definitions", "use $defs"),
            unknown("dependencies", "use dependentRequired or dependentSchemas"),
            unknown("additionalItems", "use items beside prefixItems"),
            unknown("unevaluatedProperties", "use additionalProperties"),
            unknown("unevaluatedItems", "use items"),
            unknown("nullable", "list null in type"),
            unknown("contentMediaType", "remove it, because only contentEncoding is checked"),
            unknown("contentSchema", "remove it, because only contentEncoding is checked"),
        ])
    func unknownKeyword(sample: BadSchema) throws {
        try sample.check()
    }

    @Test("An unknown keyword that resembles no keyword gets no suggestion")
    func noSuggestion() throws {
        let problem = try #require(BadSchema.problems(of: ["wholly-different": 1]).first)
        #expect(problem.detail == "wholly-different is not a supported keyword")
    }

    @Test("An annotation x-… is accepted with any value", arguments: ["x-", "x-unit", "x-é"])
    func ownAnnotation(name: String) throws {
        let annotation = JSONObject([JSONObject.Member(name: name, value: ["maxmum": 1])])
        #expect(BadSchema.problems(of: .object(try #require(annotation))).isEmpty)
    }

    /// The requirement of each keyword, as in messages, and a JSON array of values that violate the requirement.
    static let wrongKinds: [(keyword: SchemaKeyword, requirement: String, values: String)] =
        [.comment, .title, .description, .pattern, .format, .contentEncoding, .reference].map {
            ($0, "must be a string (got ", #"[null, true, 1, 1.5, [], {}]"#)
        }
        + [.deprecated, .readOnly, .writeOnly, .uniqueItems].map {
            ($0, "must be true or false (got ", #"[null, 0, "true", [], {}]"#)
        }
        + [.minimum, .maximum, .exclusiveMinimum, .exclusiveMaximum, .multipleOf].map {
            ($0, "must be a number (got ", #"[null, true, "1", [1], {}]"#)
        }
        + [.minLength, .maxLength, .minItems, .maxItems, .minContains, .maxContains, .minProperties, .maxProperties].map
    {
        ($0, "must be a non-negative integer (got ", #"[null, "1", -1, 1.5, -1.0, 1e300, []]"#)
    }
        + [.allOf, .anyOf, .oneOf, .prefixItems].map {
            ($0, "must be an array of at least one schema (got ", #"[null, 1, "a", [], {}, true]"#)
        }
        + [.properties, .patternProperties, .dependentSchemas, .definitions].map {
            ($0, "must be an object of schemas (got ", #"[null, 1, "a", [], true]"#)
        }
        + [.items, .contains, .additionalProperties, .propertyNames, .not, .if, .then, .else].map {
            ($0, "a schema must be an object, true or false (got ", #"[null, 1, 1.5, "a", []]"#)
        }
        + [
            (.required, "must be an array of distinct strings (got ", #"["a", [1], ["a", "a"], {}, null]"#),
            (.dependentRequired, "must be an object of arrays of strings (got ", #"[[], "a", null]"#),
            (.enum, "must be an array (got ", #"[null, "a", 1, {}]"#),
            (.examples, "must be an array (got ", #"[null, "a", 1, {}]"#),
            (.type, "which is not a type", #"[null, 1, "int", {}, ["string", 1]]"#),
            (.schema, "must be \"https://json-schema.org/draft/2020-12/schema\" (got ", #"[1, null, "x"]"#),
        ]

    @Test("A keyword refuses each value of a wrong kind", arguments: wrongKinds.indices)
    func wrongKind(row: Int) throws {
        let (keyword, requirement, values) = Self.wrongKinds[row]
        for value in try #require(JSONValue(parsing: values).array) {
            let problems = BadSchema.problems(of: .object([keyword.rawValue: value]))
            #expect(problems.count == 1, "\(keyword) \(value)")
            #expect(problems.first?.pointer == [keyword.rawValue], "\(keyword) \(value)")
            #expect(problems.first?.detail.contains(requirement) ?? false, "\(keyword) \(value): \(problems)")
        }
    }

    @Test("The table of wrong kinds contains each keyword that does not allow every kind of value")
    func everyKeyword() {
        let covered = Set(Self.wrongKinds.map(\.keyword))
        #expect(Set(SchemaKeyword.allCases).subtracting(covered) == [.const, .default])
    }

    @Test(
        "An invalid value of a keyword is refused with its location",
        arguments: [
            BadSchema("no type", #"{"type": []}"#, Problem("/type", "type", "must name at least one type")),
            BadSchema(
                "an unknown type", #"{"type": "strng"}"#, Problem("/type", "type", "did you mean string?")),
            BadSchema(
                "one type twice", #"{"type": ["null", "null"]}"#, Problem("/type", "type", "names null twice")),
            BadSchema(
                "a multipleOf of zero", #"{"multipleOf": 0.0}"#, Problem("/multipleOf", "multipleOf", "greater than 0")),
            BadSchema(
                "a negative multipleOf", #"{"multipleOf": -1}"#, Problem("/multipleOf", "multipleOf", "greater than 0")),
            BadSchema(
                "an unclosed group", #"{"pattern": "ab(c"}"#,
                Problem("/pattern", "pattern", "\"ab(c\" cannot be used: ")),
            BadSchema(
                "a bracket without a group", #"{"pattern": "éa)"}"#, Problem("/pattern", "pattern", "(at character 3)")),
            BadSchema(
                "look-ahead", #"{"pattern": "a(?=b)"}"#,
                Problem("/pattern", "pattern", "(at character 2)", isUnsupported: true)),
            BadSchema(
                "a back-reference", #"{"pattern": "(a)\\1"}"#,
                Problem("/pattern", "pattern", "(at character 4)", isUnsupported: true)),
            BadSchema(
                "a pattern too large", #"{"pattern": "(a{99}){99}"}"#,
                Problem("/pattern", "pattern", "more than 4000 states", isUnsupported: true)),
            BadSchema(
                "an invalid pattern for names", #"{"patternProperties": {"a/[": true}}"#,
                Problem("/patternProperties/a~1[", "patternProperties", "cannot be used: ")),
            BadSchema(
                "an unknown format", #"{"format": "datetime"}"#,
                Problem("/format", "format", "is not a supported format; did you mean date-time?", isUnsupported: true)),
            BadSchema(
                "a format without a similar name", #"{"format": "credit-card-number"}"#,
                Problem("/format", "format", "\"credit-card-number\" is not a supported format", isUnsupported: true)),
            BadSchema(
                "an unsupported encoding", #"{"contentEncoding": "base32"}"#,
                Problem("/contentEncoding", "contentEncoding", "must be base64 (got base32)", isUnsupported: true)),
            BadSchema(
                "a repeated name in dependentRequired", #"{"dependentRequired": {"a": ["b"], "c/d": ["b", "b"]}}"#,
                Problem("/dependentRequired/c~1d", "dependentRequired", "distinct strings for c/d")),
            BadSchema(
                "another dialect", #"{"$schema": "http://json-schema.org/draft-07/schema#"}"#,
                Problem("/$schema", "$schema", "must be \"\(Schema.dialect)\"", isUnsupported: true)),
            BadSchema(
                "a dialect in a subschema", #"{"not": {"$schema": "\#(Schema.dialect)"}}"#,
                Problem("/not/$schema", "$schema", "only at the top", isUnsupported: true)),
            BadSchema("an array instead of a schema", "[]", Problem("", "schema", "(got an array)")),
            BadSchema(
                "an invalid schema in an unused definition", #"{"$defs": {"a": {"items": {"minimum": "1"}}}}"#,
                Problem("/$defs/a/items/minimum", "minimum", "must be a number")),
        ])
    func wrongValue(sample: BadSchema) throws {
        try sample.check()
    }

    @Test("The problem of a pattern has the position of the error, counted in Unicode scalars from 1")
    func patternOffset() throws {
        let problem = try #require(BadSchema.problems(of: ["pattern": "e\u{301}😀+*"]).first)
        #expect(problem.detail.hasSuffix("(at character 5)"), "\(problem)")
    }

    @Test("Small patterns that exceed the size limit for all patterns of the schema are refused")
    func manyPatterns() throws {
        let patterns = (0..<60).map { JSONValue.object(["pattern": .string("^(ab\($0)){900}$")]) }
        let problems = BadSchema.problems(of: ["anyOf": .array(patterns)])
        #expect(
            problems.allSatisfy {
                $0.isUnsupported && $0.detail.contains("size limit for all patterns of the schema together")
            })
        // The first patterns are within the limit.
        #expect((1..<60).contains(problems.count))
    }

    @Test("All problems are reported, each once and in the order of the document")
    func manyProblems() throws {
        try BadSchema(
            "many",
            #"""
            {"properties": {"b": {"maxmum": 1, "type": "strng"}, "a": {"items": {"minItems": -1}, "pattern": "("}},
             "minimum": "1", "$defs": {"c": {"$ref": "#/$defs/c/not"}}, "type": "text"}
            """#,
            Problem("/properties/b/maxmum", "maxmum", "maximum", isUnsupported: true),
            Problem("/properties/b/type", "type", "string"),
            Problem("/properties/a/items/minItems", "minItems", "a non-negative integer"),
            Problem("/properties/a/pattern", "pattern", "cannot be used"),
            Problem("/minimum", "minimum", "must be a number"),
            Problem("/$defs/c/$ref", "$ref", "which the document does not contain"),
            Problem("/type", "type", "names \"text\", which is not a type")
        ).check()
    }

    @Test("The description of the error has a line for each problem, which begins with the location of the problem")
    func description() {
        do {
            _ = try KeySchema(["minimum": "1", "a/b": 2])
            Issue.record("the invalid schema was accepted")
        } catch {
            let lines = [
                "/minimum: minimum must be a number (got \"1\")", "/a~1b: a/b is not a supported keyword",
            ]
            #expect(error.description == lines.joined(separator: "\n"))
        }
    }

    @Test("The message about a long invalid value is short")
    func longValue() throws {
        let long = JSONValue.string(String(repeating: "q", count: 5_000))
        for document: JSONValue in [
            ["minimum": long], ["type": [[long]]], ["$schema": [long]], ["enum": long], ["maxLength": [long]],
        ] {
            let problems = BadSchema.problems(of: document)
            #expect(!problems.isEmpty, "\(document.briefPhrase)")
            for problem in problems { #expect(problem.detail.utf8.count < 250, "\(problem)") }
        }
    }
}

/// An invalid schema document, with its problems in order.
struct BadSchema: Sendable, CustomTestStringConvertible {
    struct Problem: Sendable {
        let pointer: String
        let keyword: String
        /// A part of the message.
        let part: String
        /// True if the schema uses a feature that schemas of settings do not support; false if the schema is invalid.
        let isUnsupported: Bool

        init(_ pointer: String, _ keyword: String, _ part: String, isUnsupported: Bool = false) {
            self.pointer = pointer
            self.keyword = keyword
            self.part = part
            self.isUnsupported = isUnsupported
        }
    }

    let name: String
    let text: String
    let problems: [Problem]

    init(_ name: String, _ text: String, _ problems: Problem...) {
        self.init(name, text, problems)
    }

    init(_ name: String, _ text: String, _ problems: [Problem]) {
        self.name = name
        self.text = text
        self.problems = problems
    }

    var testDescription: String { name }

    /// Expects the problems when the document is compiled as the schema of a value.
    func check() throws {
        check(problems: BadSchema.problems(of: try JSONValue(parsing: text)))
    }

    /// Expects the problems when the document is compiled as the schema of a suite.
    func checkAsSuite() throws {
        check(problems: BadSchema.suiteProblems(of: try JSONValue(parsing: text)))
    }

    static func problems(of document: JSONValue) -> [SchemaError.Problem] {
        do {
            _ = try KeySchema(document)
            return []
        } catch {
            return error.problems
        }
    }

    static func suiteProblems(of document: JSONValue) -> [SchemaError.Problem] {
        do {
            _ = try Schema(document)
            return []
        } catch {
            return error.problems
        }
    }

    private func check(problems found: [SchemaError.Problem]) {
        #expect(found.count == problems.count, "\(name): \(found)")
        for (found, expected) in zip(found, problems) {
            #expect(found.pointer.description == expected.pointer, "\(name): \(found)")
            #expect(found.keyword == expected.keyword, "\(name): \(found)")
            #expect(found.detail.contains(expected.part), "\(name): \(found)")
            #expect(found.isUnsupported == expected.isUnsupported, "\(name): \(found)")
        }
    }
}
