/// What a schema says of one key.
public struct KeySchema: Sendable {
    /// The key.
    public let name: String
    /// The key's part of the document: what listings and generators show.
    public let document: JSONValue
    /// The value that holds while nobody stored another, normalised.
    public let defaultValue: JSONValue?
    /// Whether the key is locked against ordinary writes (`readOnly`).
    public let isLocked: Bool
    /// Whether the value is a secret (`writeOnly`): no message about it repeats any of it.
    public let isSecret: Bool

    private let nodes: [SchemaNode]
    let roots: [SchemaNodeID]

    init(name: String, document: JSONValue, defaultValue: JSONValue?, nodes: [SchemaNode], roots: [SchemaNodeID]) {
        self.name = name
        self.document = document
        self.defaultValue = defaultValue.map { SchemaNormalizer.normalized($0, under: roots, in: nodes) }
        self.nodes = nodes
        self.roots = roots
        isLocked = SchemaConjunction.isLocked(roots, in: nodes)
        isSecret = SchemaConjunction.isSecret(roots, in: nodes)
    }

    /// Everything in a value that the key does not allow, as far as a thousand violations; empty if it is valid.
    ///
    /// Pointers lead into the value. For a secret they stay at its root and nothing of the value is repeated.
    public func violations(of value: JSONValue) -> [Violation] {
        violations(of: value, isSecret: isSecret)
    }

    /// The violations, told as those of a secret or not.
    package func violations(of value: JSONValue, isSecret: Bool) -> [Violation] {
        var validator = SchemaValidator(nodes: nodes)
        validator.validate(value, against: roots, isSecret: isSecret)
        return validator.findings.map { finding in
            var violation = finding.violation
            violation.key = name
            return violation
        }
    }

    /// Whether the key asks for integers, so that `1.0` is taken as `1`.
    public var holdsIntegers: Bool {
        SchemaConjunction.closure(of: roots, in: nodes).contains { nodes[$0].types?.prefersIntegers ?? false }
    }

    /// Whether the key allows a value.
    public func allows(_ value: JSONValue) -> Bool {
        SchemaValidator.isValid(value, nodes, roots)
    }

    /// The value with integral doubles made integers wherever the key asks for integers. To be done before checking.
    public func normalized(_ value: JSONValue) -> JSONValue {
        SchemaNormalizer.normalized(value, under: roots, in: nodes)
    }
}
