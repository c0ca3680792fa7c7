/// `enum` and `const`: the values that are allowed, compared mathematically.
struct ValueRules: Sendable {
    private let listed: [JSONValue]?
    private let listedSet: Set<MathematicalJSON>
    private let constant: JSONValue?

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        constant = source.object["const"]
        var listed: [JSONValue]?
        if let value = source.object["enum"] {
            listed = value.array
            if listed == nil {
                let detail = "must be an array, but is \(value.kindPhrase)"
                compiler.report(source.pointer.appending("enum"), "enum", detail)
            }
        }
        self.listed = listed
        listedSet = Set((listed ?? []).map(MathematicalJSON.init))
        if listed == nil && constant == nil { return nil }
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        if let constant, !value.isMathematicallyEqual(to: constant) {
            validator.fail("const", "must be \(constant.briefPhrase)", value, expected: constant)
        }
        if let listed, !listedSet.contains(MathematicalJSON(value)) {
            validator.fail("enum", "must be one of \(Self.listing(listed))", value, expected: .array(listed))
        }
    }

    private static func listing(_ values: [JSONValue]) -> String {
        if values.isEmpty { return "no values at all" }
        let most = 12
        let shown = values.prefix(most).map(\.briefPhrase).joined(separator: ", ")
        return values.count > most ? "\(shown) and \(values.count - most) more" : shown
    }
}
