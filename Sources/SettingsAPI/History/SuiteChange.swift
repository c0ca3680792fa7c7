package import SettingsModel

/// The change of a suite as a whole by one commit. A commit also has a `Change` for each changed key.
package struct SuiteChange: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The suite was created without a schema.
        case created
        /// A schema was set. `revision` is the revision of the commit, which becomes the revision of the schema.
        case schemaSet(revision: Revision, document: JSONValue)
        case schemaRemoved
        case dropped
    }

    package var suite: SuiteName
    package var kind: Kind
    /// The text of the new schema; nil if writing the document gives the same text.
    package var schemaText: String?
    /// The previous schema, for undoing the change.
    package var replaced: ReplacedSchema?
    /// The previous revision of the suite; nil if the suite did not exist.
    package var oldRevision: Revision?
    /// If the suite had no schema before this change, the revision of the commit that removed its last schema. Nil if
    /// the suite had a schema, or never had a schema.
    package var oldSchemaRevision: Revision?
    /// The keys without a value in a dropped suite.
    package var forgotten: ForgottenKeys?

    /// A schema that was replaced or removed.
    package struct ReplacedSchema: Equatable, Sendable {
        package var document: JSONValue
        /// The text of the schema; nil if writing the document gives the same text.
        package var text: String?
        package var revision: Revision

        package init(document: JSONValue, text: String? = nil, revision: Revision) {
            self.document = document
            self.text = text
            self.revision = revision
        }
    }

    package init(
        suite: SuiteName, kind: Kind, replaced: ReplacedSchema? = nil, oldRevision: Revision? = nil,
        oldSchemaRevision: Revision? = nil, forgotten: ForgottenKeys? = nil
    ) {
        self.suite = suite
        self.kind = kind
        self.replaced = replaced
        self.oldRevision = oldRevision
        self.oldSchemaRevision = oldSchemaRevision
        self.forgotten = forgotten
    }
}

extension SuiteChange: JSONBody {
    private enum Word: String, BodyWord {
        case create
        case setSchema
        case removeSchema
        case drop
    }

    package init(_ reader: ObjectReader) throws(BodyError) {
        suite = try reader.required("suite")
        let word: Word = try reader.required("op")
        schemaText = try reader.optional("schemaText")
        kind =
            switch word {
            case .create: .created
            case .setSchema:
                .schemaSet(
                    revision: try reader.required("schemaRevision"),
                    document: try reader.schemaDocument(fromText: schemaText))
            case .removeSchema: .schemaRemoved
            case .drop: .dropped
            }
        replaced = try reader.optional("replaced")
        oldRevision = try reader.optional("oldRevision")
        oldSchemaRevision = try reader.optional("oldSchemaRevision")
        forgotten = try reader.optional("forgotten")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("op", word.rawValue)
        writer.member("suite", suite)
        if case .schemaSet(let revision, let document) = kind {
            writer.member("schemaRevision", revision)
            writer.member(schema: document, orText: schemaText)
        }
        writer.member("replaced", replaced)
        writer.member("oldRevision", oldRevision)
        writer.member("oldSchemaRevision", oldSchemaRevision)
        writer.member("forgotten", forgotten)
    }

    private var word: Word {
        switch kind {
        case .created: .create
        case .schemaSet: .setSchema
        case .schemaRemoved: .removeSchema
        case .dropped: .drop
        }
    }
}

extension SuiteChange.ReplacedSchema: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        let text: String? = try reader.optional("schemaText")
        self.init(
            document: try reader.schemaDocument(fromText: text), text: text,
            revision: try reader.required("schemaRevision"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("schemaRevision", revision)
        writer.member(schema: document, orText: text)
    }
}

extension JSONWriter {
    /// Writes a schema to a file: the text if it is not nil, otherwise the document. The text has the layout that
    /// the client chose.
    package mutating func member(schema document: JSONValue, orText text: String?) {
        if let text { member("schemaText", text) } else { member("schema", document) }
    }
}

extension ObjectReader {
    /// Parses the text of a schema. If the text is nil, reads the member `schema`.
    func schemaDocument(fromText text: String?) throws(BodyError) -> JSONValue {
        guard let text else { return try required("schema") }
        return try JSONValue(ofSchemaText: text)
    }
}

extension JSONValue {
    /// Reads a schema from its text.
    package init(ofSchemaText text: String) throws(BodyError) {
        do {
            try self.init(parsing: text)
        } catch {
            throw BodyError("the text of the schema is not JSON: \(error)")
        }
    }
}

/// The keys without a value in a dropped suite, for reading the past. The commit has a change for each key with a
/// value.
package struct ForgottenKeys: Equatable, Sendable {
    /// The revision of every other key: a key that was never written, or a removed key whose revision the suite had
    /// discarded. The name in JSON is `floor`.
    package var unknownKeyRevision: Revision
    /// The keys whose revisions the suite still had.
    package var keys: [Key]

    /// A key without a value.
    package struct Key: Equatable, Sendable {
        package var key: KeyName
        package var revision: Revision
        package var modified: Timestamp?

        package init(key: KeyName, revision: Revision, modified: Timestamp?) {
            self.key = key
            self.revision = revision
            self.modified = modified
        }
    }

    package init(unknownKeyRevision: Revision, keys: [Key]) {
        self.unknownKeyRevision = unknownKeyRevision
        self.keys = keys
    }
}

extension ForgottenKeys: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(unknownKeyRevision: try reader.required("floor"), keys: try reader.list("keys"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("floor", unknownKeyRevision)
        writer.member("keys", unlessEmpty: keys)
    }
}

extension ForgottenKeys.Key: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            key: try reader.required("key"), revision: try reader.required("revision"),
            modified: try reader.optional("modified"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("key", key)
        writer.member("revision", revision)
        writer.member("modified", modified)
    }
}
