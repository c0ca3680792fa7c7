/// The rules that combine schemas for one and the same value.
final class CombinationRules: Sendable {
    let reference: SchemaNodeID?
    let allOf: [SchemaNodeID]
    private let anyOf: [SchemaNodeID]
    private let oneOf: [SchemaNodeID]
    private let not: SchemaNodeID?
    private let condition: SchemaNodeID?
    private let consequence: SchemaNodeID?
    private let alternative: SchemaNodeID?

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        reference = compiler.string("$ref", source).flatMap {
            compiler.node(referredToBy: $0, at: source.pointer.appending("$ref"))
        }
        allOf = compiler.subschemas("allOf", source)
        anyOf = compiler.subschemas("anyOf", source)
        oneOf = compiler.subschemas("oneOf", source)
        not = compiler.subschema("not", source)
        condition = compiler.subschema("if", source)
        consequence = compiler.subschema("then", source)
        alternative = compiler.subschema("else", source)
        if nodes.isEmpty { return nil }
    }

    /// All schemas that take part.
    var nodes: [SchemaNodeID] {
        allOf + anyOf + oneOf + [reference, not, condition, consequence, alternative].compactMap { $0 }
    }

    /// True if a value may be refused because it fits one of the schemas.
    var refusesFitting: Bool {
        !oneOf.isEmpty || not != nil || condition != nil
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        if let reference { validator.check(value, reference) }
        for node in allOf {
            if validator.isSettled { return }
            validator.check(value, node)
        }
        if !anyOf.isEmpty, !anyOf.contains(where: { validator.isValid(value, $0) }) {
            failAll("anyOf", anyOf, value, &validator)
        }
        if !oneOf.isEmpty { checkOneOf(value, &validator) }
        if let not, validator.isValid(value, not) {
            validator.fail("not", "must not fit the schema that is excluded")
        }
        if let condition, let branch = validator.isValid(value, condition) ? consequence : alternative {
            validator.check(value, branch)
        }
    }

    private func checkOneOf(_ value: JSONValue, _ validator: inout SchemaValidator) {
        let fitting = oneOf.indices.filter { validator.isValid(value, oneOf[$0]) }
        if fitting.isEmpty {
            failAll("oneOf", oneOf, value, &validator)
        } else if fitting.count > 1 {
            let places = fitting.map(String.init).joined(separator: ", ")
            validator.fail("oneOf", "must fit exactly one of \(oneOf.count) alternatives, but fits those at \(places)")
        }
    }

    /// Notes that a value fits none of the alternatives. Of a few, says why.
    private func failAll(
        _ keyword: String, _ nodes: [SchemaNodeID], _ value: JSONValue, _ validator: inout SchemaValidator
    ) {
        let mostExplained = 4
        let explained = nodes.count > mostExplained ? [] : nodes
        let reasons = explained.compactMap { validator.firstReason(value, $0) }
        let because = reasons.isEmpty ? "" : ": it " + reasons.joined(separator: ", or ")
        validator.fail(keyword, "must fit one of \(Plural.count(nodes.count, "alternative"))\(because)")
    }
}
