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
