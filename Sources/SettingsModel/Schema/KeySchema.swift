/// A compiled JSON Schema (draft 2020-12) that judges the values of one key.
public struct KeySchema: Sendable {
    /// The key; empty for a schema that stands alone.
    public let name: String
    /// The key's part of the document, as listings and generators show it.
    public let document: JSONValue
    /// The value that is in force while none is stored, normalised.
    public let defaultValue: JSONValue?
    /// True if the key is locked against ordinary writes (`readOnly`).
    package let isLocked: Bool
    /// True if the value is a secret (`writeOnly`), of which messages repeat nothing.
    public let isSecret: Bool

    let nodes: [SchemaNode]
    let roots: [SchemaNodeID]

    /// Compiles a document that stands alone. Throws everything that is wrong with it: unknown keywords, values that a
    /// keyword cannot have, patterns that cannot be matched in linear time, invalid defaults, references that lead nowhere
    /// or in a circle.
    package init(_ document: JSONValue, named name: String = "") throws(SchemaError) {
        self.init(
            name: name, document: document, defaultValue: document["default"],
            nodes: try SchemaCompiler.compile(document), roots: [0])
    }

    init(name: String, document: JSONValue, defaultValue: JSONValue?, nodes: [SchemaNode], roots: [SchemaNodeID]) {
        self.name = name
        self.document = document
        self.defaultValue = defaultValue.map { value in
            var steps = Int.max
            return SchemaNormalizer.normalized(value, under: roots, in: nodes, steps: &steps)
        }
        self.nodes = nodes
        self.roots = roots
        isLocked = nodes.isLocked(roots)
        isSecret = nodes.isSecret(roots)
    }

    /// Lists the violations of a value, at most a thousand; empty if it is valid.
    ///
    /// Pointers lead into the value. For a secret they stay at its root and nothing of the value is repeated.
    public func violations(of value: JSONValue) -> [Violation] {
        violations(of: value, isSecret: isSecret)
    }

    /// Lists the violations of a value that is a secret or not, whatever the schema says.
    package func violations(of value: JSONValue, isSecret: Bool) -> [Violation] {
        var steps = Int.max
        return violations(of: value, isSecret: isSecret, steps: &steps)
    }

    /// Lists the violations, and takes the steps of checking from those that are left for several values. If no steps are
    /// left, the list is not what it would be with more.
    package func violations(of value: JSONValue, isSecret: Bool, steps: inout Int) -> [Violation] {
        var validator = SchemaValidator(nodes: nodes, steps: SchemaValidator.budget(for: value), of: steps)
        validator.validate(value, against: roots, isSecret: isSecret)
        validator.charge(&steps)
        return validator.findings.map { finding in
            var violation = finding.violation
            violation.key = name.isEmpty ? nil : name
            return violation
        }
    }

    /// True if the key asks for integers, so that `1.0` counts as `1`.
    package var holdsIntegers: Bool {
        nodes.conjunction(of: roots).contains { nodes[$0].types?.prefersIntegers ?? false }
    }

    package func allows(_ value: JSONValue) -> Bool {
        var steps = Int.max
        return allows(value, steps: &steps)
    }

    /// True if the value fits. Takes the steps of checking from those that are left for several values.
    package func allows(_ value: JSONValue, steps: inout Int) -> Bool {
        var validator = SchemaValidator(nodes: nodes, steps: SchemaValidator.budget(for: value), of: steps)
        let allows = validator.allows(value, roots)
        validator.charge(&steps)
        return allows
    }

    /// True if the key allows a value as it is; nil if that takes more than some steps to find out.
    package func allows(_ value: JSONValue, within steps: Int) -> Bool? {
        let steps = min(steps, SchemaValidator.budget(for: value))
        guard let isNormal = SchemaNormalizer.isNormal(value, under: roots, in: nodes, steps: steps) else { return nil }
        guard isNormal else { return false }
        var validator = SchemaValidator(nodes: nodes, steps: steps)
        let allows = validator.allows(value, roots)
        return validator.isExhausted ? nil : allows
    }

    /// Returns the value with integers for integral doubles wherever the key asks for integers. Done before checking.
    package func normalized(_ value: JSONValue) -> JSONValue {
        var steps = Int.max
        return normalized(value, steps: &steps)
    }

    /// Returns the normalised value. Takes the steps from those that are left for several values.
    package func normalized(_ value: JSONValue, steps: inout Int) -> JSONValue {
        SchemaNormalizer.normalized(value, under: roots, in: nodes, steps: &steps)
    }
}
