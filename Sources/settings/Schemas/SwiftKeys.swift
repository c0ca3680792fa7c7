import SettingsHTTP
import SettingsModel

/// Swift code that declares the keys of a schema, for programs that use the module SettingsClient.
///
/// A value without a matching Swift type is a `JSONValue`. The code omits limits that `DefaultsKey` cannot express; the
/// daemon enforces them.
struct SwiftKeys {
    private var declarations: [String] = []
    /// The names of the generated properties.
    private var names: Set<String> = []
    /// The names that another generated enumeration must not have.
    private var typeNames = Self.unavailableTypeNames
    private var needsFoundation = false

    /// Names that a generated enumeration must not have, because it would hide the type with this name.
    private static let unavailableTypeNames = words(
        """
        String Int Double Bool Data Date URL UUID Array Dictionary Optional JSONValue Self Type Any DefaultsKey DefaultsKeys
        DefaultsSerializable CaseIterable
        """)
    /// The keywords of Swift.
    private static let keywords = words(
        """
        as associatedtype break case catch class continue default defer deinit do else enum extension fallthrough false
        fileprivate for func guard if import in init inout internal is let nil operator precedencegroup private protocol public
        repeat rethrows return self static struct subscript super switch throw throws true try typealias var where while
        """)

    private static func words(_ text: String) -> Set<String> {
        Set(text.split(whereSeparator: \.isWhitespace).map(String.init))
    }

    /// Returns a Swift file with the declarations of all keys that a schema lists.
    ///
    /// - Parameter source: the suite or the file of the schema, for the comment in the first line.
    static func text(of schema: Schema, from source: String) -> String {
        var keys = SwiftKeys()
        for key in schema.keys { keys.declare(key.name, key.document) }
        let imports = (keys.needsFoundation ? "import Foundation\n" : "") + "import SettingsClient\n"
        let comment = "// Generated from the schema of \(source) by 'settings schema generate swift'.\n\n"
        return comment + imports + "\nextension DefaultsKeys {\n" + keys.declarations.joined(separator: "\n") + "}\n"
    }

    private mutating func declare(_ name: String, _ schema: JSONValue) {
        let property = Self.unusedName(Self.camelCase(name, prefixIfDigit: "key"), in: &names)
        var declaration = ""
        for line in (schema["description"]?.string ?? schema["title"]?.string ?? "").split(separator: "\n") {
            declaration += "    /// \(Terminal.escaped(String(line)))\n"
        }
        let swiftType = swiftType(of: schema, named: property)
        let literal = schema["default"].flatMap(swiftType.literal)
        // Without a default that has a Swift literal, the type is optional: the key is nil if no value is stored.
        let type = literal == nil ? swiftType.name + "?" : swiftType.name
        let arguments =
            [Self.quoted(name)] + (literal.map { ["defaultValue: \($0)"] } ?? []) + swiftType.limits
            + (schema["writeOnly"] == true ? ["secret: true"] : [])
        declaration +=
            "    var \(Self.escaped(property)): DefaultsKey<\(type)> { .init(\(arguments.joined(separator: ", "))) }\n"
        declarations.append(swiftType.declaration + declaration)
    }

    /// The Swift type of a key, with the limits of the key and the literals of its values.
    private struct SwiftType {
        let name: String
        /// The limits as arguments of the initializer of `DefaultsKey`.
        var limits: [String] = []
        /// The declaration of a type that is generated for the key; empty for any other type.
        var declaration = ""
        /// Returns the Swift literal of a value; nil if the value does not have the type or has no literal.
        var literal: (JSONValue) -> String?
    }

    private mutating func swiftType(of schema: JSONValue, named name: String) -> SwiftType {
        if let values = schema["enum"]?.array { return enumeration(values, schema, name) }
        switch schema["type"]?.string {
        case "boolean": return SwiftType(name: "Bool") { $0.bool.map { "\($0)" } }
        case "integer":
            return SwiftType(name: "Int", limits: range(schema, ofIntegers: true)) { $0.integer.map { "\($0)" } }
        case "number":
            return SwiftType(name: "Double", limits: range(schema, ofIntegers: false)) { value in
                value.integer.map { "\($0)" } ?? value.number.map { "\($0)" }
            }
        case "string": return text(schema)
        case "array":
            let element = schema["items"].map { swiftType(of: $0, named: name) }.flatMap {
                $0.declaration.isEmpty ? $0 : nil
            }
            guard let element else { return SwiftType(name: "[JSONValue]", literal: Self.elements(Self.literal)) }
            return SwiftType(name: "[\(element.name)]", literal: Self.elements(element.literal))
        case "object":
            return SwiftType(name: "[String: JSONValue]") { value in
                guard let object = value.object else { return nil }
                let members = object.map { "\(Self.quoted($0.name)): \(Self.literal($0.value) ?? ".null")" }
                return members.isEmpty ? "[:]" : "[\(members.joined(separator: ", "))]"
            }
        default: return SwiftType(name: "JSONValue", literal: Self.literal)
        }
    }

    private mutating func text(_ schema: JSONValue) -> SwiftType {
        let quoted = { (value: JSONValue) in value.string.map(Self.quoted) }
        if schema["contentEncoding"] == "base64" {
            needsFoundation = true
            return SwiftType(name: "Data") { quoted($0).map { "Data(base64Encoded: \($0)) ?? Data()" } }
        }
        if schema["format"] == "date-time" {
            needsFoundation = true
            return SwiftType(name: "Date") { value in
                value.string.flatMap(PropertyListDate.seconds).map { "Date(timeIntervalSinceReferenceDate: \($0))" }
            }
        }
        var limits: [String] = []
        if let length = schema["maxLength"]?.integer { limits.append("maxLength: \(length)") }
        if let pattern = schema["pattern"]?.string { limits.append("matching: \(Self.quoted(pattern))") }
        return SwiftType(name: "String", limits: limits, literal: quoted)
    }

    /// Returns the range of numbers as an argument; no argument if Swift cannot express the range. For example, Swift
    /// has no range that excludes its lower bound.
    private func range(_ schema: JSONValue, ofIntegers: Bool) -> [String] {
        func bound(_ keyword: String) -> String? {
            schema[keyword].flatMap { $0.integer.map { "\($0)" } ?? (ofIntegers ? nil : $0.number.map { "\($0)" }) }
        }
        var lower = bound("minimum")
        if ofIntegers, lower == nil, let below = schema["exclusiveMinimum"]?.integer, below < .max {
            lower = "\(below + 1)"
        }
        if !ofIntegers, schema["exclusiveMinimum"] != nil { return [] }
        let (upper, exclusiveUpper) = (bound("maximum"), bound("exclusiveMaximum"))
        // A negative upper bound needs parentheses, because Swift would parse the range operator and the minus sign as
        // one operator.
        let operand = { (text: String) in text.hasPrefix("-") ? "(\(text))" : text }
        switch (lower, upper, exclusiveUpper) {
        case (nil, nil, nil): return []
        case (let lower, let upper?, nil): return ["in: \(lower ?? "")...\(operand(upper))"]
        case (let lower, nil, let exclusiveUpper?): return ["in: \(lower ?? "")..<\(operand(exclusiveUpper))"]
        case (let lower?, nil, nil): return ["in: \(lower)..."]
        case (_, _?, _?): return []
        }
    }

    /// Returns the type for the keyword `enum`: texts become the cases of a Swift enumeration.
    private mutating func enumeration(_ values: [JSONValue], _ schema: JSONValue, _ name: String) -> SwiftType {
        let texts = values.compactMap(\.string)
        guard texts.count == values.count else {
            let integers = values.compactMap { $0.integer.map { "\($0)" } }
            guard integers.count == values.count else { return SwiftType(name: "JSONValue", literal: Self.literal) }
            let allowed = "allowed: [\(integers.joined(separator: ", "))]"
            return SwiftType(name: "Int", limits: [allowed]) { $0.integer.map { "\($0)" } }
        }
        let type = Self.unusedName(name.prefix(1).uppercased() + name.dropFirst(), in: &typeNames)
        var (cases, used, lines) = ([String: String](), Set<String>(), "")
        for text in texts {
            let word = Self.unusedName(Self.camelCase(text, prefixIfDigit: "value"), in: &used)
            cases[text] = Self.escaped(word)
            lines += "        case \(Self.escaped(word))" + (word == text ? "" : " = \(Self.quoted(text))") + "\n"
        }
        let declaration = "    enum \(type): String, CaseIterable, DefaultsSerializable {\n\(lines)    }\n\n"
        return SwiftType(name: type, declaration: declaration) { $0.string.flatMap { cases[$0].map { ".\($0)" } } }
    }

    // MARK: Words

    /// Returns the name in lower camel case, with only the letters and digits of ASCII.
    ///
    /// - Parameter prefix: the text that is put before a name that begins with a digit.
    private static func camelCase(_ name: String, prefixIfDigit prefix: String) -> String {
        let parts = name.split { !($0.isLetter || $0.isNumber) || !$0.isASCII }.map(String.init)
        var word =
            parts.first.map { first in
                let isAllCapitals = first.allSatisfy { !$0.isLowercase }
                return isAllCapitals ? first.lowercased() : first.prefix(1).lowercased() + first.dropFirst()
            } ?? "empty"
        for part in parts.dropFirst() { word += part.prefix(1).uppercased() + part.dropFirst() }
        return word.first?.isNumber ?? false ? prefix + word : word
    }

    /// Returns the name, with a number at its end if the name is already used. Adds the result to the used names.
    private static func unusedName(_ name: String, in used: inout Set<String>) -> String {
        var (unused, number) = (name, 2)
        while !used.insert(unused).inserted {
            unused = "\(name)\(number)"
            number += 1
        }
        return unused
    }

    private static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    /// Returns a function that makes the literal of an array with the function for its elements.
    private static func elements(_ literal: @escaping (JSONValue) -> String?) -> (JSONValue) -> String? {
        { value in
            guard let elements = value.array else { return nil }
            let texts = elements.compactMap(literal)
            return texts.count == elements.count ? "[\(texts.joined(separator: ", "))]" : nil
        }
    }

    /// The value as a literal of `JSONValue`.
    private static func literal(_ value: JSONValue) -> String? {
        switch value {
        case .null: ".null"
        case .bool(let truth): "\(truth)"
        case .integer(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let text): quoted(text)
        case .array: elements(literal)(value)
        case .object(let object):
            object.isEmpty
                ? "[:]"
                : "[\(object.map { "\(quoted($0.name)): \(literal($0.value) ?? ".null")" }.joined(separator: ", "))]"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            default:
                quoted +=
                    scalar.properties.generalCategory == .control
                    ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
            }
        }
        return quoted + "\""
    }
}
