/// A schema that judges the values of one key.
public struct KeySchema: Sendable {
    /// The key.
    public let name: String
    /// The key's part of the document, as listings and generators show it.
    public let document: JSONValue
    /// The value that is in force while none is stored, normalised.
    public let defaultValue: JSONValue?
    /// True if the key is locked against ordinary writes (`readOnly`).
    package let isLocked: Bool
    /// True if the value is a secret (`writeOnly`), of which messages repeat nothing.
    public let isSecret: Bool

    private let nodes: [SchemaNode]
    let roots: [SchemaNodeID]

    init(name: String, document: JSONValue, defaultValue: JSONValue?, nodes: [SchemaNode], roots: [SchemaNodeID]) {
        self.name = name
        self.document = document
        self.defaultValue = defaultValue.map { SchemaNormalizer.normalized($0, under: roots, in: nodes) }
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
        var validator = SchemaValidator(nodes: nodes)
        validator.validate(value, against: roots, isSecret: isSecret)
        return validator.findings.map { finding in
            var violation = finding.violation
            violation.key = name
            return violation
        }
    }

    /// True if the key asks for integers, so that `1.0` is taken as `1`.
    package var holdsIntegers: Bool {
        nodes.conjunction(of: roots).contains { nodes[$0].types?.prefersIntegers ?? false }
    }

    package func allows(_ value: JSONValue) -> Bool {
        SchemaValidator.isValid(value, nodes, roots)
    }

    /// Returns the value with integers for integral doubles wherever the key asks for integers. Done before checking.
    package func normalized(_ value: JSONValue) -> JSONValue {
        SchemaNormalizer.normalized(value, under: roots, in: nodes)
    }
}

/// A compiled JSON Schema (draft 2020-12) that judges single values.
package struct JSONSchema: Sendable {
    package let document: JSONValue
    let nodes: [SchemaNode]
    private let isSecret: Bool

    /// Compiles a document. Throws everything that is wrong with it: unknown keywords, values that a keyword cannot have,
    /// patterns that cannot be matched in linear time, invalid defaults, references that lead nowhere or in a circle.
    package init(_ document: JSONValue) throws(SchemaError) {
        self.document = document
        nodes = try SchemaCompiler.compile(document)
        isSecret = nodes.isSecret([0])
    }

    /// Lists the violations of a value, at most a thousand; empty if it is valid. Repeats nothing of a secret.
    package func violations(of value: JSONValue) -> [Violation] {
        var validator = SchemaValidator(nodes: nodes)
        validator.validate(value, against: [0], isSecret: isSecret)
        return validator.findings.map(\.violation)
    }

    package func allows(_ value: JSONValue) -> Bool {
        SchemaValidator.isValid(value, nodes, [0])
    }

    /// Returns the value with integers for integral doubles wherever the schema asks for integers.
    package func normalized(_ value: JSONValue) -> JSONValue {
        SchemaNormalizer.normalized(value, under: [0], in: nodes)
    }
}
