@testable import SettingsModel

/// The rules of JSON Schema for some keywords, read off the document each time and written without any cleverness.
/// Numbers must be small enough for doubles to be exact.
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
