/// `enum` and `const`: the values that are allowed, compared mathematically.
final class ValueRules: Sendable {
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
        guard validator.spend(value.extent) else { return }
        if let constant, !value.isMathematicallyEqual(to: constant) {
            validator.fail("const", "must be \(Self.naming(constant))", value, expected: constant)
        }
        if let listed, !listedSet.contains(MathematicalJSON(value)) {
            validator.fail("enum", "must be one of \(Self.listing(listed))", value, expected: .array(listed))
        }
    }

    /// A container in a message is only its size, which says nothing about what it has to hold.
    private static func naming(_ constant: JSONValue) -> String {
        constant.briefScalar == nil ? "exactly what the schema names" : constant.description
    }

    private static func listing(_ values: [JSONValue]) -> String {
        if values.isEmpty { return "no values at all" }
        let most = 12
        let shown = values.prefix(most).map(\.briefPhrase).joined(separator: ", ")
        return values.count > most ? "\(shown) and \(values.count - most) more" : shown
    }
}
