import SettingsModel

/// A function that a tag (`{{…}}`) of a template applies to a value before the value becomes text.
enum TemplateFilter: Sendable {
    /// The value as JSON.
    case json
    /// The text as one word of a shell command, with quotes if the word needs quotes.
    case shell
    /// The value as YAML in one line.
    case yaml
    /// The text in upper case.
    case upper
    /// The filter `default`: the value to use if the value of the reference is missing.
    case fallback(JSONValue)

    private static let names = ["json", "shell", "yaml", "upper", "default"]

    /// Reads the name of a filter, and its argument if the filter takes an argument.
    init(_ scanner: inout TemplateScanner) throws(TemplateError) {
        let offset = scanner.offset
        let name = scanner.readWord()
        switch name {
        case "json": self = .json
        case "shell": self = .shell
        case "yaml": self = .yaml
        case "upper": self = .upper
        case "default": self = .fallback(try Self.readArgument(&scanner))
        case "": throw TemplateError(at: offset, "a filter is missing after |\(scanner.foundPhrase)")
        default:
            throw TemplateError(
                at: offset,
                "there is no filter '\(Terminal.escaped(name))'\(NameSuggestion.phrase(for: name, among: Self.names)); "
                    + "the filters are \(Self.names.joined(separator: ", "))")
        }
    }

    /// Reads the argument of `default`: a text, number, `true`, `false` or `null` in parentheses.
    private static func readArgument(_ scanner: inout TemplateScanner) throws(TemplateError) -> JSONValue {
        let expected = "write default(\"x\"), or default(0) for a value that is not a text"
        guard scanner.skip("(") else { throw TemplateError(at: scanner.offset, "( is missing; \(expected)") }
        scanner.skipSpace()
        let offset = scanner.offset
        var value = try scanner.readQuotedText().map { JSONValue.string($0) }
        if value == nil {
            // Read two words for a number with a dot, because a dot ends a word.
            var word = scanner.readWord()
            if scanner.skip(".") { word += "." + scanner.readWord() }
            value = try? JSONValue(parsing: word)
        }
        guard let value else { throw TemplateError(at: offset, "the default is not a JSON value; \(expected)") }
        guard value.scalar != nil else {
            throw TemplateError(at: offset, "the default is \(value.kindPhrase); \(expected)")
        }
        scanner.skipSpace()
        guard scanner.skip(")") else { throw TemplateError(at: scanner.offset, ") is missing\(scanner.foundPhrase)") }
        return value
    }

    /// Applies the filter to a value. Returns nil if the filter does not accept the type of the value.
    func applied(to value: JSONValue) -> JSONValue? {
        switch self {
        case .json: return .string(value.text())
        case .yaml: return .string(value.yaml)
        case .fallback: return value
        case .upper: return value.scalar.map { .string($0.uppercased()) }
        case .shell: return value.scalar.map { .string($0.isEmpty ? "''" : EnvironmentFile.quoted($0)) }
        }
    }
}

extension JSONValue {
    /// The value as text without quotes; nil for an array or an object.
    var scalar: String? { array == nil && object == nil ? unquotedText : nil }

    /// The value as YAML in one line. A JSON text is also YAML 1.2, but some JSON texts are not YAML 1.1, or have
    /// another meaning there. Therefore the result differs from JSON where YAML 1.1 needs another form.
    fileprivate var yaml: String {
        if let array { return "[\(array.map(\.yaml).joined(separator: ", "))]" }
        if let object {
            let members = object.map { "\(JSONValue.string($0.name).yaml): \($0.value.yaml)" }
            return "{\(members.joined(separator: ", "))}"
        }
        if case .double = self {
            // YAML 1.1 reads a number with an exponent as a text, unless it has a dot and its exponent has a sign.
            let parts = text().uppercased().split(separator: "E")
            guard parts.count == 2 else { return text() }
            let exponent = parts[1].hasPrefix("-") || parts[1].hasPrefix("+") ? "\(parts[1])" : "+\(parts[1])"
            return "\(parts[0])\(parts[0].contains(".") ? "" : ".0")e\(exponent)"
        }
        // YAML 1.1 does not allow these characters, or reads them as the end of a line.
        return text().unicodeScalars.map { scalar in
            switch scalar.value {
            case 0x7F...0x9F, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF:
                // The sum has five digits. Without the first digit, it is the value with leading zeros.
                "\\u" + String(scalar.value + 0x10000, radix: 16).dropFirst()
            default: String(scalar)
            }
        }.joined()
    }
}
