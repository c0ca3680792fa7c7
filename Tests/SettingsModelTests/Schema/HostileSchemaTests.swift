import Foundation
import TestSupport
import Testing

@testable import SettingsModel

/// Schemas and values that a validator without limits would check for a very long time, or with a very deep stack.
@Suite(.ownThread)
struct HostileSchemaTests {
    /// Returns the violations that a validation with a budget of `steps` finds, and expects that the validation takes
    /// at most linear time. The default budget is less than `SchemaValidator.maximumSteps`, because debug builds are
    /// slow.
    private static func expectBounded(
        _ schema: KeySchema, _ value: JSONValue, steps: Int = 200_000,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> [Violation] {
        var validator = SchemaValidator(nodes: schema.nodes, steps: steps)
        // The first node is the whole schema.
        expectLinearTime(sourceLocation: sourceLocation) { validator.validate(value, against: [0]) }
        let violations = validator.findings.map(\.violation)
        #expect(violations.reduce(0) { $0 + $1.detail.utf8.count } < 10_000_000, sourceLocation: sourceLocation)
        return violations
    }

    private static let tooComplex =
        "checking the value against the schema takes too long; store a smaller value, or simplify the schema"

    /// A schema of definitions, each of which refers `width` times to the next definition in a keyword such as `allOf`.
    /// The last definition is `end`.
    private static func exponentialSchema(
        _ keyword: String, levels: Int, width: Int, end: JSONValue
    ) throws -> KeySchema {
        var definitions: JSONObject = ["d\(levels)": end]
        for level in 0..<levels {
            let reference: JSONValue = ["$ref": .string("#/$defs/d\(level + 1)")]
            definitions["d\(level)"] = .object([keyword: .array(Array(repeating: reference, count: width))])
        }
        return try KeySchema(["$ref": "#/$defs/d0", "$defs": .object(definitions)])
    }

    @Test("References that triple at each level exceed the budget", arguments: ["allOf", "anyOf", "oneOf"])
    func exponentialReferences(keyword: String) throws {
        let schema = try Self.exponentialSchema(keyword, levels: 28, width: 3, end: ["type": "string"])
        // Valid for `allOf` and invalid for the other keywords, so that no sub-schema determines the result early.
        let value: JSONValue = keyword == "allOf" ? "x" : 1
        #expect(Self.expectBounded(schema, value).map(\.detail) == [Self.tooComplex])
    }

    @Test("A schema with exponentially many references gives a result if the first sub-schemas determine the result")
    func decidedByFirstAlternatives() throws {
        #expect(try Self.exponentialSchema("anyOf", levels: 20, width: 3, end: true).allows(1))
        #expect(!(try Self.exponentialSchema("allOf", levels: 20, width: 3, end: false).allows(1)))
    }

    @Test("Alternatives that apply at each level of a deep value refuse the value in bounded time")
    func exponentialRecursion() throws {
        let schema = try KeySchema([
            "anyOf": [
                ["items": ["$ref": "#"], "minItems": 1], ["items": ["$ref": "#"], "maxItems": 5], ["const": 0],
            ],
            "type": "array",
        ])
        var value: JSONValue = 1
        for _ in 0..<100 { value = [value] }
        #expect(!Self.expectBounded(schema, value).isEmpty)
    }

    @Test("Many elements that match no alternative are reported in bounded time with messages of bounded size")
    func manyReasons() throws {
        var alternatives: JSONValue = ["const": 1]
        for _ in 0..<3 { alternatives = ["anyOf": [alternatives, alternatives, alternatives]] }
        let schema = try KeySchema(["items": alternatives])
        #expect(!Self.expectBounded(schema, .array(Array(repeating: 2, count: 2_000))).isEmpty)
    }

    @Test("Many unknown members of an object whose schema has many members are reported in bounded time")
    func manySuggestions() throws {
        let known = (0..<5_000).map { JSONObject.Member(name: "member-number-\($0)", value: true) }
        let unknown = (0..<5_000).map { JSONObject.Member(name: "member-numbre-\($0)", value: true) }
        let schema = try KeySchema([
            "properties": .object(try #require(JSONObject(known))), "additionalProperties": false,
        ])
        let violations = Self.expectBounded(schema, .object(try #require(JSONObject(unknown))))
        // A validation lists at most 1,000 violations.
        #expect(violations.count == 1_000)
        // Only some of the many names are compared, so the test does not check which similar name is suggested.
        #expect(
            violations.first?.detail.hasPrefix("the schema has no such member; did you mean member-number-") ?? false)
        // The keyword `contains` reports no violations of the elements, so the validator makes no suggestions.
        let schemaWithContains = try KeySchema([
            "contains": ["$ref": "#/$defs/closed"], "$defs": ["closed": schema.document],
        ])
        let elements = Array(repeating: JSONValue.object(["member-numbre-1": 1]), count: 5_000)
        #expect(Self.expectBounded(schemaWithContains, .array(elements)).map(\.keyword) == ["contains"])
    }

    @Test
    func `Many required names in many objects cost only the steps up to the first missing name`() throws {
        let names = JSONValue.array((0..<20_000).map { .string("n\($0)") })
        let schema = try KeySchema(["contains": ["required": names], "minContains": 0, "maxContains": 1])
        let objects = JSONValue.array(Array(repeating: [:], count: 50_000))
        #expect(Self.expectBounded(schema, objects).isEmpty)
    }

    @Test("Comparing a large value with many constants exceeds the budget")
    func manyConstants() throws {
        let value = JSONValue.array(Array(repeating: 1, count: 5_000))
        let references = JSONValue.array(Array(repeating: ["$ref": "#/$defs/large"], count: 5_000))
        for keyword in ["const", "enum"] {
            let large = JSONValue.object([keyword: keyword == "const" ? value : [value]])
            let schema = try KeySchema(["allOf": references, "$defs": ["large": large]])
            #expect(Self.expectBounded(schema, value).map(\.detail) == [Self.tooComplex])
        }
    }

    @Test(
        "Checking many length or format rules on a long string exceeds the budget",
        arguments: [["minLength": 1], ["format": "uri-reference"]] as [JSONValue])
    func longString(rule: JSONValue) throws {
        let references = JSONValue.array(Array(repeating: ["$ref": "#/$defs/rule"], count: 20_000))
        let schema = try KeySchema(["allOf": references, "$defs": ["rule": rule]])
        let text = JSONValue.string(String(repeating: "a", count: 200_000))
        #expect(Self.expectBounded(schema, text).map(\.detail) == [Self.tooComplex])
    }

    @Test("uniqueItems accepts a large array of different elements, and finds one repetition")
    func uniqueItems() throws {
        let schema = try KeySchema(["uniqueItems": true])
        var elements = (0..<200_000).map { JSONValue.integer(Int64($0)) }
        #expect(Self.expectBounded(schema, .array(elements), steps: 1_000_000).isEmpty)
        elements.append(.double(7))
        #expect(
            Self.expectBounded(schema, .array(elements), steps: 1_000_000).map(\.detail) == [
                "must not repeat an element (got equal elements at the indexes 7 and 200000)"
            ])
        let objects = (0..<20_000).map { JSONValue.object(["a": ["b": [.integer($0 % 19_999)]], "c": 1]) }
        #expect(Self.expectBounded(schema, .array(objects)).count == 1)
    }

    @Test(
        "Patterns for which backtracking takes exponential time are matched in bounded time",
        arguments: ["(a+)+$", "(a|aa)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*a){20}c", "((a{0,10}){0,10}){0,10}b"])
    func exponentialPattern(pattern: String) throws {
        let schema = try KeySchema(["pattern": .string(pattern)])
        let text = JSONValue.string(String(repeating: "a", count: 20_000) + "!")
        let violations = Self.expectBounded(schema, text, steps: 2_000_000)
        // The keyword `limit` means that the budget was exhausted.
        #expect(violations.count == 1 && ["pattern", "limit"].contains(violations[0].keyword))
    }

    @Test("Matching a large pattern against a long text exceeds the budget")
    func largePattern() throws {
        let schema = try KeySchema(["pattern": "(?:(?:a?){20}){20}c"])
        let text = JSONValue.string(String(repeating: "a", count: 200_000))
        #expect(Self.expectBounded(schema, text).map(\.detail) == [Self.tooComplex])
    }

    @Test("Matching many patterns against many names exceeds the budget")
    func manyPatterns() throws {
        var patterns: JSONObject = [:]
        for index in 0..<1_200 { patterns["^x\(index)(?:abc){9}"] = true }
        let schema = try KeySchema(["patternProperties": .object(patterns)])
        let members = (0..<20_000).map { JSONObject.Member(name: "y\($0)", value: 1) }
        #expect(
            Self.expectBounded(schema, .object(try #require(JSONObject(members)))).map(\.detail) == [Self.tooComplex])
    }

    @Test("Values nested to the limit of the parser are checked on a small stack")
    func deepValues() throws {
        let texts: [(schema: String, open: String, close: String, isValid: Bool)] = [
            (##"{"items": {"$ref": "#"}}"##, "[", "]", true),
            (##"{"allOf": [{"items": {"$ref": "#"}}]}"##, "[", "]", true),
            (
                ##"{"anyOf": [false, {"properties": {"a": {"$ref": "#"}}, "additionalProperties": false}]}"##,
                "{\"a\":", "}", true
            ),
            (##"{"type": "array", "anyOf": [{"items": {"$ref": "#"}}]}"##, "[", "]", false),
            (##"{"oneOf": [{"items": {"$ref": "#"}, "type": "array"}]}"##, "[", "]", false),
            (##"{"not": {"not": {"items": {"$ref": "#"}}}}"##, "[", "]", true),
            (##"{"if": {"items": {"$ref": "#"}}, "else": false}"##, "[", "]", true),
            (##"{"contains": {"$ref": "#"}}"##, "[", "]", true),
            (##"{"uniqueItems": true, "enum": [1, [[1]]]}"##, "[", "]", false),
            (##"{"patternProperties": {"a": {"$ref": "#"}}}"##, "{\"a\":", "}", true),
        ]
        for (schema, open, close, isValid) in texts {
            let depth = JSONValue.maximumDepth
            let text = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            let compiled = try KeySchema(JSONValue(parsing: schema))
            let value = try JSONValue(parsing: text)
            let (violations, normalized) = SmallStack.run {
                (compiled.violations(of: value), compiled.normalized(value))
            }
            #expect(violations.isEmpty == isValid, "\(schema): \(violations)")
            #expect(normalized == value)
        }
    }

    @Test("Chains of schemas at each level of a deep value are refused before they overflow a small stack")
    func deepChains() throws {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            var schema: JSONValue = ["items": ["$ref": "#"], "type": "array"]
            for _ in 0..<50 { schema = .object([keyword: [schema]]) }
            let compiled = try KeySchema(schema)
            let depth = JSONValue.maximumDepth
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let value = try JSONValue(parsing: text)
            let violations = SmallStack.run { compiled.violations(of: value) }
            #expect(violations.map(\.detail) == [Self.tooComplex], "\(keyword)")
        }
    }

    @Test("A deep schema document is compiled on a small stack, and a long document in bounded time")
    func largeDocuments() throws {
        let depth = JSONValue.maximumDepth - 1
        let deep = String(repeating: "{\"items\":", count: depth) + "{}" + String(repeating: "}", count: depth)
        let document = try JSONValue(parsing: deep)
        #expect(SmallStack.run { BadSchema.problems(of: document) }.isEmpty)
        let wrong = (0..<2_000).map { JSONObject.Member(name: "maxmum\($0)", value: 1) }
        let flat = JSONValue.object(try #require(JSONObject(wrong)))
        expectLinearTime { #expect(BadSchema.problems(of: flat).count == 2_000) }
    }
}

/// Runs code on a thread with the smallest stack that a thread of a daemon may have.
private enum SmallStack {
    /// Debug builds need several times as much stack as release builds.
    #if DEBUG
        private static let size = 4 * 1024 * 1024
    #else
        private static let size = 512 * 1024
    #endif

    static func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result {
        let done = DispatchSemaphore(value: 0)
        let box = Box<Result>()
        let thread = Thread {
            box.result = body()
            done.signal()
        }
        thread.stackSize = size
        thread.start()
        done.wait()
        guard let result = box.result else { preconditionFailure("the thread ended without a result") }
        return result
    }

    /// Thread-safe, because one thread writes the value before it signals, and the other thread reads it after the
    /// signal.
    private final class Box<Result>: @unchecked Sendable {
        var result: Result?
    }
}
