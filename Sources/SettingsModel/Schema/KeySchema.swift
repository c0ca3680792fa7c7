/// A compiled JSON Schema (draft 2020-12) for the values of one key.
public struct KeySchema: Sendable {
    /// The name of the key; empty for a standalone schema without a name.
    public let name: String
    /// The schema of the key as the document of the suite contains it.
    public let document: JSONValue
    /// The default: the normalised value that the key has while no value is stored.
    public let defaultValue: JSONValue?
    /// True if the key is locked (`readOnly`): ordinary writes cannot change it.
    package let isLocked: Bool
    /// True if the value is a secret (`writeOnly`): messages never contain it.
    public let isSecret: Bool

    /// The compiled schemas of the whole document.
    let nodes: [SchemaNode]
    /// The schemas among ``nodes`` under which a value of the key must be valid.
    let roots: [SchemaNodeID]

    /// Compiles a standalone document: the schema of a value, which is not a part of the document of a suite. Throws
    /// all problems: unknown keywords, values that a keyword does not allow, patterns that cannot be matched in linear
    /// time, invalid defaults, and references that are circular or refer to nothing.
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

    /// Returns the violations of a value, at most a thousand; empty if the value is valid.
    ///
    /// The pointers are relative to the value. For a secret, they point to the whole value, and messages do not contain
    /// the value.
    public func violations(of value: JSONValue) -> [Violation] {
        violations(of: value, isSecret: isSecret)
    }

    /// Returns the violations of a value. `isSecret` determines whether the value is a secret, even if the schema says
    /// otherwise.
    package func violations(of value: JSONValue, isSecret: Bool) -> [Violation] {
        var steps = Int.max
        return violations(of: value, isSecret: isSecret, steps: &steps)
    }

    /// Returns the violations, and subtracts the steps of the validation from `steps`, a budget for several values. If
    /// this budget or the budget for one value is exhausted, the only violation is that the check takes too long.
    package func violations(of value: JSONValue, isSecret: Bool, steps: inout Int) -> [Violation] {
        var validator = SchemaValidator(nodes: nodes, steps: SchemaValidator.budget(for: value), sharedSteps: steps)
        validator.validate(value, against: roots, isSecret: isSecret)
        validator.charge(&steps)
        return validator.findings.map { finding in
            var violation = finding.violation
            violation.key = name.isEmpty ? nil : name
            return violation
        }
    }

    /// True if the schema demands integers, so that `1.0` is stored as `1`.
    package var holdsIntegers: Bool {
        nodes.conjunction(of: roots).contains { nodes[$0].types?.prefersIntegers ?? false }
    }

    package func allows(_ value: JSONValue) -> Bool {
        var steps = Int.max
        return allows(value, steps: &steps)
    }

    /// True if the value is valid; false if a budget is exhausted. Subtracts the steps of the validation from `steps`,
    /// a budget for several values.
    package func allows(_ value: JSONValue, steps: inout Int) -> Bool {
        var validator = SchemaValidator(nodes: nodes, steps: SchemaValidator.budget(for: value), sharedSteps: steps)
        let allows = validator.allows(value, roots)
        validator.charge(&steps)
        return allows
    }

    /// Returns whether the value is valid and already normalised; nil if the validation takes more than `steps`, or
    /// more than the budget for one value.
    package func allows(_ value: JSONValue, within steps: Int) -> Bool? {
        let steps = min(steps, SchemaValidator.budget(for: value))
        guard let isNormal = SchemaNormalizer.isNormal(value, under: roots, in: nodes, steps: steps) else { return nil }
        guard isNormal else { return false }
        var validator = SchemaValidator(nodes: nodes, steps: steps)
        let allows = validator.allows(value, roots)
        return validator.isExhausted ? nil : allows
    }

    /// Returns the value with integral doubles replaced by integers where the schema demands integers. The
    /// calling code normalises a value before it validates the value.
    package func normalized(_ value: JSONValue) -> JSONValue {
        var steps = Int.max
        return normalized(value, steps: &steps)
    }

    /// Returns the normalised value. Subtracts the steps from `steps`, a budget for several values.
    package func normalized(_ value: JSONValue, steps: inout Int) -> JSONValue {
        SchemaNormalizer.normalized(value, under: roots, in: nodes, steps: &steps)
    }
}
