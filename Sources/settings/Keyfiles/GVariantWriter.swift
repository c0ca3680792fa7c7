import SettingsHTTP

/// A writer of values in the text form of GVariant.
enum GVariantWriter {
    /// Returns the text of a value of a type; nil if the value does not have the type, or has no text.
    static func text(of value: JSONValue, as type: GVariantType) -> String? {
        untypedText(value, type).map { "@\(type.text) \($0)" }
    }

    /// Returns the text of a value with the most similar type: an array whose elements have one type is an array of
    /// this type, any other array is an array of variants, and an object is a dictionary of variants. Null is
    /// `nothing`. Nil if the value has no text.
    static func text(of value: JSONValue) -> String? {
        let type = type(of: value)
        guard let text = untypedText(value, type) else { return nil }
        // A reader takes an integer without a type as `i`, so a type that contains `x` is always written.
        if type == .basic("x") { return "int64 \(text)" }
        return isEvident(value) && !type.text.contains("x") ? text : "@\(type.text) \(text)"
    }

    private static func type(of value: JSONValue) -> GVariantType {
        switch value {
        case .null: return .maybe(.variant)
        case .bool: return .basic("b")
        case .integer(let number): return .basic(Int32(exactly: number) == nil ? "x" : "i")
        case .double: return .basic("d")
        case .string: return .basic("s")
        case .object: return .dictionary
        case .array(let elements):
            var types: [GVariantType] = []
            for element in elements {
                let type = type(of: element)
                if !types.contains(type) { types.append(type) }
            }
            // An array with integers of both sizes is an array of the larger type.
            if types.allSatisfy({ $0 == .basic("i") || $0 == .basic("x") }), types.count == 2 { types = [.basic("x")] }
            return .array(types.count == 1 ? types[0] : .variant)
        }
    }

    /// True if the text of a value shows its type. For example, the text of an empty array does not show the type of
    /// its elements.
    private static func isEvident(_ value: JSONValue) -> Bool {
        switch value {
        case .array(let elements): !elements.isEmpty && elements.allSatisfy(isEvident)
        case .object(let object): !object.isEmpty
        case .null: false
        default: true
        }
    }

    /// Returns the text of a value without its type; nil if the value does not have the type, or has no text.
    private static func untypedText(_ value: JSONValue, _ type: GVariantType) -> String? {
        switch (type, value) {
        case (.basic("v"), _): return text(of: value).map { "<\($0)>" }
        case (.basic("b"), .bool(let truth)): return truth ? "true" : "false"
        // Other readers of GVariant refuse subnormal numbers, which are close to zero.
        case (.basic("d"), .double(let number)): return number.isSubnormal ? nil : "\(number)"
        case (.basic("s"), .string(let text)), (.basic("o"), .string(let text)), (.basic("g"), .string(let text)):
            return quoted(text)
        case (.basic(let letter), .integer(let number)):
            return GVariantType.range(of: letter)?.contains(number) ?? false ? "\(number)" : nil
        case (.maybe, .null): return "nothing"
        case (.maybe(let element), _): return untypedText(value, element).map { "just \($0)" }
        case (.array(.entry(let key, let type)), .object(let object)):
            let members = object.compactMap { member in
                self.key(member.name, key).flatMap { key in untypedText(member.value, type).map { "\(key): \($0)" } }
            }
            return members.count == object.count ? "{\(members.joined(separator: ", "))}" : nil
        case (.array(let type), .array(let elements)):
            return list(elements.map { untypedText($0, type) }).map { "[\($0)]" }
        case (.tuple(let types), .array(let elements)) where types.count == elements.count:
            return list(zip(elements, types).map { untypedText($0, $1) })
                .map { types.count == 1 ? "(\($0),)" : "(\($0))" }
        case (.entry(let key, let type), .array(let parts)) where parts.count == 2:
            return list([untypedText(parts[0], key), untypedText(parts[1], type)]).map { "{\($0)}" }
        default: return nil
        }
    }

    /// Returns the text of the key of a dictionary. In JSON, the key is a text even if its type is, for example, an
    /// integer.
    private static func key(_ name: String, _ type: GVariantType) -> String? {
        if let text = untypedText(.string(name), type) { return text }
        return (try? JSONValue(parsing: name)).flatMap { untypedText($0, type) }
    }

    private static func list(_ texts: [String?]) -> String? {
        let present = texts.compactMap(\.self)
        return present.count == texts.count ? present.joined(separator: ", ") : nil
    }

    private static func quoted(_ text: String) -> String? {
        var quoted = "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\0": return nil
            default:
                if scalar.properties.generalCategory == .control {
                    let digits = String(scalar.value, radix: 16)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    quoted.unicodeScalars.append(scalar)
                }
            }
        }
        return quoted + "'"
    }
}
