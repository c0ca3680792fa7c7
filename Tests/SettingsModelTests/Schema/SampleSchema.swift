import TestSupport

@testable import SettingsModel

/// Random schemas of a small grammar, and values of which a good part fits them.
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
