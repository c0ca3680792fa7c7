/// The rules for strings. Lengths count Unicode scalars.
final class StringRules: Sendable {
    private let minLength: Int?
    private let maxLength: Int?
    private let pattern: Pattern?
    private let format: StringFormat?
    private let isBase64: Bool

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        minLength = compiler.count("minLength", source)
        maxLength = compiler.count("maxLength", source)
        pattern = compiler.string("pattern", source).flatMap {
            compiler.pattern($0, at: source.pointer.appending("pattern"), "pattern")
        }
        format = Self.format(source, &compiler)
        isBase64 = Self.isBase64(source, &compiler)
        if minLength == nil, maxLength == nil, pattern == nil, format == nil, !isBase64 { return nil }
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        guard case .string(let text) = value else { return }
        // Reading a text as a format takes several times as long as counting or decoding it.
        guard validator.spend(format == nil ? text.utf8.count / 8 : text.utf8.count) else { return }
        if minLength != nil || maxLength != nil { checkLength(value, text, &validator) }
        if let pattern, !validator.matches(text, pattern) {
            validator.fail(
                "pattern", "must match the pattern \(pattern.source.cut(to: 200))", value,
                expected: .string(pattern.source))
        }
        if let format, !format.accepts(text) {
            validator.fail("format", "must be \(format.expectation)", value, expected: .string(format.rawValue))
        }
        if isBase64, !Base64Text.isValid(text) {
            validator.fail("contentEncoding", "must be Base64 text with its padding", value, expected: "base64")
        }
    }

    private func checkLength(_ value: JSONValue, _ text: String, _ validator: inout SchemaValidator) {
        let length = text.unicodeScalars.count
        if let minLength, length < minLength {
            validator.fail(
                "minLength", "must have at least \(Plural.count(minLength, "character"))", value,
                butWhat: "has \(length)", expected: .integer(Int64(minLength)))
        }
        if let maxLength, length > maxLength {
            validator.fail(
                "maxLength", "must have at most \(Plural.count(maxLength, "character"))", value,
                butWhat: "has \(length)", expected: .integer(Int64(maxLength)))
        }
    }

    private static func format(_ source: SchemaSource, _ compiler: inout SchemaCompiler) -> StringFormat? {
        guard let name = compiler.string("format", source) else { return nil }
        if let format = StringFormat(rawValue: name) { return format }
        let known = StringFormat.allCases.map(\.rawValue)
        let hint = NameSuggestion.phrase(for: name, among: known)
        compiler.unsupported(
            source.pointer.appending("format"), "format", "\(name) is not one that is checked\(hint)")
        return nil
    }

    private static func isBase64(_ source: SchemaSource, _ compiler: inout SchemaCompiler) -> Bool {
        guard let encoding = compiler.string("contentEncoding", source) else { return false }
        if encoding == "base64" { return true }
        compiler.unsupported(
            source.pointer.appending("contentEncoding"), "contentEncoding", "must be base64, but is \(encoding)")
        return false
    }
}
