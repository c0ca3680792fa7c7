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

/// A compiled JSON Schema (draft 2020-12) for one value, of the keywords that settings know.
///
/// For a suite with its keys there is ``Schema``; this is what it is built on, and of use by itself where one value is
/// to be checked.
public struct JSONSchema: Sendable, Hashable {
    /// The document it was compiled from.
    public let document: JSONValue
    let nodes: [SchemaNode]
    private let isSecret: Bool

    /// Compiles a document. Throws everything that is wrong with it: a keyword that is not known, a value that a
    /// keyword cannot have, a pattern that cannot be matched in linear time, a default that is not valid, a reference
    /// that leads nowhere or in a circle.
    public init(_ document: JSONValue) throws(SchemaError) {
        self.document = document
        nodes = try SchemaCompiler.compile(document)
        isSecret = SchemaConjunction.isSecret([0], in: nodes)
    }

    /// Everything in a value that is not allowed, as far as a thousand violations; empty if it is valid.
    ///
    /// Under a schema that says `writeOnly` the value is a secret, of which nothing is repeated.
    public func violations(of value: JSONValue) -> [Violation] {
        var validator = SchemaValidator(nodes: nodes)
        validator.validate(value, against: [0], isSecret: isSecret)
        return validator.findings.map(\.violation)
    }

    /// Whether a value is allowed.
    public func allows(_ value: JSONValue) -> Bool {
        SchemaValidator.isValid(value, nodes, [0])
    }

    /// The value with integral doubles made integers wherever the schema asks for integers.
    public func normalized(_ value: JSONValue) -> JSONValue {
        SchemaNormalizer.normalized(value, under: [0], in: nodes)
    }

    /// Whether two schemas were compiled from the same document, whatever the order of its members.
    public static func == (left: JSONSchema, right: JSONSchema) -> Bool {
        left.document == right.document
    }

    /// Hashes the document.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(document)
    }
}
