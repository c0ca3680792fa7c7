import SettingsHTTP
import SettingsModel

/// A reader of values in the text form of GVariant, which `dconf dump` and `gsettings get` print.
///
/// JSON has fewer types: numbers lose their width, tuples and dictionary entries become arrays, variants become their
/// values, and the keys of dictionaries become texts.
struct GVariantReader {
    /// The keywords before values, each with the letter of the type that it names.
    private static let keywords: [String: Character] = [
        "boolean": "b", "byte": "y", "int16": "n", "uint16": "q", "int32": "i", "uint32": "u", "handle": "h",
        "int64": "x", "uint64": "t", "double": "d", "string": "s", "objectpath": "o", "signature": "g",
    ]
    /// The bytes of a keyword or a number.
    private static let wordBytes = ByteSet.lettersAndDigits.union("_+-.")

    private var rest: ArraySlice<UInt8>

    /// Reads a text that contains one value.
    static func read(_ text: String) throws(ToolError) -> JSONValue {
        var reader = GVariantReader(rest: Array(text.utf8)[...])
        let value = try reader.value(depth: 1)
        reader.skipBlanks()
        guard reader.rest.isEmpty else { throw reader.error("unexpected text after the value") }
        return value
    }

    private mutating func value(depth: Int) throws(ToolError) -> JSONValue {
        guard depth <= JSONValue.maximumDepth else { throw error("the value is nested too deeply") }
        skipBlanks()
        switch rest.first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "("): return .array(try list(closedBy: ")", depth).values)
        case UInt8(ascii: "{"): return try dictionary(depth)
        case UInt8(ascii: "<"):
            rest.removeFirst()
            let value = try value(depth: depth + 1)
            guard take(">") else { throw error("expected '>'") }
            return value
        case UInt8(ascii: "@"):
            rest.removeFirst()
            let name = rest.prefix { !" \t".utf8.contains($0) }
            rest = rest[name.endIndex...]
            guard let type = GVariantType(String(decoding: name, as: UTF8.self)) else { throw error("expected a type") }
            return try typed(type, depth)
        case UInt8(ascii: "b") where [UInt8(ascii: "'"), UInt8(ascii: "\"")].contains(rest.dropFirst().first):
            rest.removeFirst()
            // A byte string is an array of its bytes and a zero byte.
            return .array((try bytes() + [0]).map { .integer(Int64($0)) })
        default: return try word(depth)
        }
    }

    private mutating func typed(_ type: GVariantType, _ depth: Int) throws(ToolError) -> JSONValue {
        guard let value = type.typed(try value(depth: depth + 1)) else {
            throw error("the value does not have the type \(type.text)")
        }
        return value
    }

    private mutating func word(_ depth: Int) throws(ToolError) -> JSONValue {
        let run = rest.prefix(while: Self.wordBytes.contains)
        let word = String(decoding: run, as: UTF8.self)
        if let letter = Self.keywords[word] {
            rest = rest[run.endIndex...]
            return try typed(.basic(letter), depth)
        }
        let value: JSONValue
        switch word {
        case "": throw error("expected a value")
        case "true", "false": value = .bool(word == "true")
        case "nothing": value = .null
        case "just":
            rest = rest[run.endIndex...]
            return try self.value(depth: depth + 1)
        default: value = try number(word)
        }
        rest = rest[run.endIndex...]
        return value
    }

    private func number(_ word: String) throws(ToolError) -> JSONValue {
        let isNegative = word.hasPrefix("-")
        let digits = word.drop { $0 == "-" || $0 == "+" }
        let isHexadecimal = digits.hasPrefix("0x") || digits.hasPrefix("0X")
        // The letters `i` and `n` occur in `inf` and `nan`, which are refused, because they are not finite.
        if !isHexadecimal, digits.contains(where: { ".eEin".contains($0) }) {
            guard let number = Double(word), number.isFinite else { throw notValue(word) }
            return .double(number)
        }
        let radix = isHexadecimal ? 16 : digits.hasPrefix("0") ? 8 : 10
        let magnitude = digits.dropFirst(isHexadecimal ? 2 : 0)
        // The word may have one sign, which is before the digits and before `0x`.
        guard digits.count >= word.count - 1, magnitude.first != "-", magnitude.first != "+",
            let number = Int64((isNegative ? "-" : "") + magnitude, radix: radix)
        else {
            throw notValue(word)
        }
        return .integer(number)
    }

    private func notValue(_ word: String) -> ToolError {
        error("'\(word)' is not a text in quotes, a finite number or an integer of 64 bits")
    }

    private mutating func array(_ depth: Int) throws(ToolError) -> JSONValue {
        let (values, hasVariants) = try list(closedBy: "]", depth)
        // All elements have one type: if one number is a double, all numbers are doubles. But the values of variants
        // can have different types.
        let isOfDoubles = values.contains { if case .double = $0 { true } else { false } }
        guard isOfDoubles, !hasVariants else { return .array(values) }
        return .array(values.map { $0.integer.map { .double(Double($0)) } ?? $0 })
    }

    /// Reads values between commas.
    private mutating func list(
        closedBy end: Unicode.Scalar, _ depth: Int
    ) throws(ToolError) -> (values: [JSONValue], hasVariants: Bool) {
        rest.removeFirst()
        var (values, hasVariants) = ([JSONValue](), false)
        while !take(end) {
            guard values.isEmpty || take(",") else { throw error("expected ',' or '\(end)'") }
            // A tuple with one element has a comma after the element.
            if end == ")", values.count == 1, take(end) { break }
            skipBlanks()
            if rest.first == UInt8(ascii: "<") { hasVariants = true }
            values.append(try value(depth: depth + 1))
        }
        return (values, hasVariants)
    }

    /// Reads a dictionary, or one entry `{key, value}`.
    private mutating func dictionary(_ depth: Int) throws(ToolError) -> JSONValue {
        rest.removeFirst()
        var object = JSONObject()
        while !take("}") {
            guard object.isEmpty || take(",") else { throw error("expected ',' or '}'") }
            let key = try value(depth: depth + 1)
            if object.isEmpty, take(",") {
                let entry = [key, try value(depth: depth + 1)]
                guard take("}") else { throw error("expected '}'") }
                return .array(entry)
            }
            guard take(":") else { throw error("expected ':'") }
            let member = JSONObject.Member(name: key.unquotedText, value: try value(depth: depth + 1))
            guard object.append(member) else { throw error("the key \(key.text()) occurs twice") }
        }
        return .object(object)
    }

    // MARK: Texts

    private mutating func string() throws(ToolError) -> String {
        let quote = rest.removeFirst()
        var text: [UInt8] = []
        while true {
            let byte = try next()
            if byte == quote { return String(decoding: text, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            let escaped = try next()
            switch escaped {
            case UInt8(ascii: "u"): text += try character(digits: 4)
            case UInt8(ascii: "U"): text += try character(digits: 8)
            case UInt8(ascii: "\n"): break
            default: text.append(Self.escapedControls[escaped] ?? escaped)
            }
        }
    }

    /// Reads a byte string, in which an octal escape such as `\377` stands for a byte.
    private mutating func bytes() throws(ToolError) -> [UInt8] {
        let quote = rest.removeFirst()
        var bytes: [UInt8] = []
        while true {
            let byte = try next()
            if byte == quote { return bytes }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            let octal = rest.prefix(3).prefix { (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
            if let value = UInt8(String(decoding: octal, as: UTF8.self), radix: 8) {
                rest = rest[octal.endIndex...]
                bytes.append(value)
            } else {
                let escaped = try next()
                bytes.append(Self.escapedControls[escaped] ?? escaped)
            }
        }
    }

    /// The letters of escapes such as `\n`, each with the control character for which the escape stands.
    private static let escapedControls: [UInt8: UInt8] = [
        UInt8(ascii: "a"): 7, UInt8(ascii: "b"): 8, UInt8(ascii: "t"): 9, UInt8(ascii: "n"): 10, UInt8(ascii: "v"): 11,
        UInt8(ascii: "f"): 12, UInt8(ascii: "r"): 13,
    ]

    /// Reads the hexadecimal digits of an escape `\u` or `\U`, and returns its character.
    private mutating func character(digits: Int) throws(ToolError) -> String.UTF8View {
        let number = UInt32(String(decoding: rest.prefix(digits), as: UTF8.self), radix: 16)
        guard rest.count >= digits, let scalar = number.flatMap(Unicode.Scalar.init) else {
            throw error("\\\(digits == 4 ? "u" : "U") needs \(digits) hexadecimal digits that stand for a character")
        }
        rest = rest.dropFirst(digits)
        return String(scalar).utf8
    }

    /// Removes and returns the next byte of a quoted text.
    private mutating func next() throws(ToolError) -> UInt8 {
        guard let byte = rest.popFirst() else { throw error("a quote is not closed") }
        return byte
    }

    private func error(_ message: String) -> ToolError {
        ToolError(.failed, "column \(rest.startIndex + 1) of the value: \(message)")
    }

    private mutating func skipBlanks() { rest = rest.drop { " \t\r\n".utf8.contains($0) } }

    /// Skips blanks, then removes the character if it is next. Returns false if another character is next.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }
}
