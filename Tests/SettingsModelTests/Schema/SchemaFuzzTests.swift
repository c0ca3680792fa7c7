import TestSupport
import Testing

@testable import SettingsModel

@Suite(.ownThread)
struct SchemaFuzzTests {
    @Test(arguments: UInt64(1)...12)
    func `Random schemas allow the same random values as a simple validator`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var allowed = 0
        var compared = 0
        for round in 0..<250 {
            let document = SampleSchema.random(depth: 3, using: &generator)
            let schema = try KeySchema(document)
            for _ in 0..<8 {
                let value = SampleSchema.value(depth: 3, using: &generator)
                let expected = PlainValidator.allows(value, document)
                let context = "seed \(seed), round \(round): \(value) under \(document)"
                let violations = schema.violations(of: value)
                #expect(schema.allows(value) == expected, "\(context)")
                #expect(violations.isEmpty == expected, "\(context)")
                #expect(violations.allSatisfy { value[$0.pointer] != nil }, "\(context)")
                #expect(schema.allows(schema.normalized(value)) == expected, "\(context)")
                allowed += expected ? 1 : 0
                compared += 1
            }
        }
        // Both results are frequent.
        #expect(allowed > compared / 5 && allowed < compared * 4 / 5, "seed \(seed): \(allowed) of \(compared)")
    }

    @Test("A key allows a value if and only if all schemas for its name allow the value", arguments: UInt64(1)...6)
    func keysAgree(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<100 {
            let own = SampleSchema.random(depth: 2, using: &generator)
            let patterned = SampleSchema.random(depth: 2, using: &generator)
            let schema = try Schema([
                "properties": ["k": own], "patternProperties": ["^k": patterned], "additionalProperties": patterned,
            ])
            for (name, rules) in [("k", [own, patterned]), ("k2", [patterned]), ("other", [patterned])] {
                let value = SampleSchema.value(depth: 2, using: &generator)
                // A name that only the schema `false` describes is not an allowed key.
                guard let key = schema.key(name) else {
                    #expect(rules == [false])
                    continue
                }
                let expected = rules.allSatisfy { PlainValidator.allows(value, $0) }
                #expect(key.allows(value) == expected, "seed \(seed), round \(round): \(name)")
                #expect(key.violations(of: value).isEmpty == expected, "seed \(seed), round \(round): \(name)")
            }
        }
    }

    @Test(
        "Mathematical equality agrees with a simple comparison, and equal values have the same hash",
        arguments: UInt64(1)...4
    )
    func equality(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let values = (0..<150).map { _ in SampleSchema.value(depth: 2, using: &generator) }
        for left in values {
            for right in values {
                let isEqual = left.isMathematicallyEqual(to: right)
                #expect(isEqual == PlainValidator.isEqual(left, right), "seed \(seed): \(left), \(right)")
                if isEqual { #expect(MathematicalJSON(left).hashValue == MathematicalJSON(right).hashValue) }
            }
        }
    }
}

/// A simple implementation of some keywords of JSON Schema, which reads the document for each value. Numbers must be so
/// small that doubles represent them exactly.
enum PlainValidator {
    static func allows(_ value: JSONValue, _ schema: JSONValue) -> Bool {
        guard let schema = schema.object else { return schema == true }
        return schema.members.allSatisfy { obeys(value, $0.name, $0.value, schema) }
    }

    static func isEqual(_ left: JSONValue, _ right: JSONValue) -> Bool {
        if let left = left.number, let right = right.number { return left == right }
        if let left = left.array, let right = right.array {
            return left.count == right.count && zip(left, right).allSatisfy { isEqual($0, $1) }
        }
        if let left = left.object, let right = right.object {
            return left.count == right.count
                && left.members.allSatisfy { member in
                    right.members.contains {
                        Array($0.name.utf8) == Array(member.name.utf8) && isEqual($0.value, member.value)
                    }
                }
        }
        return left == right
    }

    private static func obeys(_ value: JSONValue, _ keyword: String, _ rule: JSONValue, _ schema: JSONObject) -> Bool {
        switch keyword {
        case "type": (rule.array ?? [rule]).contains { isOf(type: $0.string ?? "", value) }
        case "enum": rule.array?.contains { isEqual($0, value) } ?? false
        case "const": isEqual(value, rule)
        case "minimum": compare(value.number, rule, >=)
        case "maximum": compare(value.number, rule, <=)
        case "exclusiveMinimum": compare(value.number, rule, >)
        case "exclusiveMaximum": compare(value.number, rule, <)
        case "minLength": compare(value.string.map { Double($0.unicodeScalars.count) }, rule, >=)
        case "maxLength": compare(value.string.map { Double($0.unicodeScalars.count) }, rule, <=)
        case "minItems": compare(value.array.map { Double($0.count) }, rule, >=)
        case "maxItems": compare(value.array.map { Double($0.count) }, rule, <=)
        case "items": value.array?.allSatisfy { allows($0, rule) } ?? true
        case "required":
            value.object.map { object in rule.array?.allSatisfy { has(object, $0.string) } ?? false } ?? true
        case "properties":
            value.object?.members.allSatisfy { member in
                rule[member.name].map { allows(member.value, $0) } ?? true
            } ?? true
        case "additionalProperties":
            value.object?.members.allSatisfy { member in
                schema["properties"]?[member.name] != nil || allows(member.value, rule)
            } ?? true
        case "allOf": rule.array?.allSatisfy { allows(value, $0) } ?? false
        case "anyOf": rule.array?.contains { allows(value, $0) } ?? false
        case "oneOf": rule.array?.filter { allows(value, $0) }.count == 1
        case "not": !allows(value, rule)
        case "if": schema[allows(value, rule) ? "then" : "else"].map { allows(value, $0) } ?? true
        default: true
        }
    }

    private static func isOf(type: String, _ value: JSONValue) -> Bool {
        switch value {
        case .null: type == "null"
        case .bool: type == "boolean"
        case .integer: type == "integer" || type == "number"
        case .double(let double): type == "number" || type == "integer" && double == double.rounded()
        case .string: type == "string"
        case .array: type == "array"
        case .object: type == "object"
        }
    }

    private static func compare(_ number: Double?, _ limit: JSONValue, _ holds: (Double, Double) -> Bool) -> Bool {
        guard let number, let limit = limit.number else { return true }
        return holds(number, limit)
    }

    private static func has(_ object: JSONObject, _ name: String?) -> Bool {
        object.members.contains { Array($0.name.utf8) == name.map { Array($0.utf8) } }
    }
}

/// Random schemas with the keywords that `PlainValidator` supports, and random values, many of which are valid.
enum SampleSchema {
    static func random(depth: Int, using generator: inout SeededGenerator) -> JSONValue {
        if generator.chance(oneIn: 14) { return .bool(generator.chance(oneIn: 2)) }
        var schema: JSONObject = [:]
        for _ in 0..<(1 + generator.below(3)) { add(to: &schema, depth: depth, using: &generator) }
        return .object(schema)
    }

    static func value(depth: Int, using generator: inout SeededGenerator) -> JSONValue {
        switch generator.below(depth > 0 ? 9 : 6) {
        case 0: return .null
        case 1: return .bool(generator.chance(oneIn: 2))
        case 2, 3: return .integer(Int64(generator.below(7) - 2))
        case 4: return .double(Double(generator.below(14) - 4) / 2)
        case 5: return .string(text(using: &generator))
        case 6, 7:
            var object: JSONObject = [:]
            for _ in 0..<generator.below(4) {
                object[name(using: &generator)] = value(depth: depth - 1, using: &generator)
            }
            return .object(object)
        default: return .array((0..<generator.below(4)).map { _ in value(depth: depth - 1, using: &generator) })
        }
    }

    private static func add(to schema: inout JSONObject, depth: Int, using generator: inout SeededGenerator) {
        switch generator.below(depth > 0 ? 15 : 7) {
        case 0: schema["type"] = type(using: &generator)
        case 1: schema["enum"] = .array((0..<generator.below(5)).map { _ in value(depth: 1, using: &generator) })
        case 2: schema["const"] = value(depth: 1, using: &generator)
        case 3:
            let keyword = generator.pick(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])
            schema[keyword] = .double(Double(generator.below(8) - 2) / 2)
        case 4: schema[generator.pick(["minLength", "maxLength"])] = .integer(Int64(generator.below(4)))
        case 5: schema[generator.pick(["minItems", "maxItems"])] = .integer(Int64(generator.below(4)))
        case 6:
            schema["required"] = .array(Set([name(using: &generator), name(using: &generator)]).map { .string($0) })
        case 7: schema["items"] = random(depth: depth - 1, using: &generator)
        case 8, 9:
            var properties: JSONObject = [:]
            for _ in 0..<3 { properties[name(using: &generator)] = random(depth: depth - 1, using: &generator) }
            schema["properties"] = .object(properties)
        case 10: schema["additionalProperties"] = random(depth: depth - 1, using: &generator)
        case 11, 12:
            let count = 1 + generator.below(3)
            schema[generator.pick(["allOf", "anyOf", "oneOf"])] = .array(
                (0..<count).map { _ in random(depth: depth - 1, using: &generator) })
        case 13: schema["not"] = random(depth: depth - 1, using: &generator)
        default:
            for keyword in ["if", "then", "else"] where keyword == "if" || !generator.chance(oneIn: 3) {
                schema[keyword] = random(depth: depth - 1, using: &generator)
            }
        }
    }

    private static func type(using generator: inout SeededGenerator) -> JSONValue {
        var names = ["null", "boolean", "integer", "number", "string", "array", "object"]
        names.shuffle(using: &generator)
        let picked = names.prefix(1 + generator.below(4)).map { JSONValue.string($0) }
        return picked.count == 1 ? picked[0] : .array(picked)
    }

    private static func name(using generator: inout SeededGenerator) -> String {
        generator.pick(["a", "b", "c", "\u{e9}", "e\u{301}"])
    }

    private static func text(using generator: inout SeededGenerator) -> String {
        generator.pick(["", "a", "ab", "\u{e9}", "e\u{301}", "😀😀", "long text"])
    }
}
