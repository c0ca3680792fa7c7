public import SettingsModel

/// What one commit did to a suite as a whole, beside the changes of its keys.
public struct SuiteChange: Hashable, Sendable {
    /// What happened.
    public enum Kind: Hashable, Sendable {
        /// The suite came into being, open.
        case created
        /// A schema was set: the document as it was sent, and the revision that it goes by.
        case schemaSet(revision: Revision, document: JSONValue)
        /// The schema was removed; the suite is open.
        case schemaRemoved
        /// The suite is gone, with all that it had.
        case dropped
    }

    /// The suite.
    public var suite: SuiteName
    /// What happened to it.
    public var kind: Kind
    /// The text of a schema that was set, where it is not what writing the document gives.
    public var schemaText: String?
    /// The schema that was in force before, where there was one: what it takes to undo the change.
    public var replaced: ReplacedSchema?
    /// The revision that the suite had before; nil if it did not exist.
    public var oldRevision: Revision?
    /// When the schema was removed that is not in force before: what its absence went by. Nil if there never was one.
    public var oldSchemaRevision: Revision?
    /// What a suite that is dropped held of keys without a value; nil for any other change.
    public var forgotten: ForgottenKeys?

    /// A schema that is no longer in force.
    public struct ReplacedSchema: Hashable, Sendable {
        /// The document as it was sent.
        public var document: JSONValue
        /// Its text, where that is not what writing the document gives.
        public var text: String?
        /// The revision that it went by.
        public var revision: Revision

        /// A schema that is no longer in force.
        public init(document: JSONValue, text: String? = nil, revision: Revision) {
            self.document = document
            self.text = text
            self.revision = revision
        }
    }

    /// A change of a suite.
    public init(
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

extension SuiteChange: JSONReadable, JSONWritable {
    private enum Word: String, CaseIterable {
        case create
        case setSchema
        case removeSchema
        case drop
    }

    /// Reads one change. A kind that is unknown is an error: to ignore it would be to lose it.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        suite = try reader.required("suite")
        let word: Word = try reader.required("op") { json throws(BodyError) in try BodyValue.word("op", json) }
        schemaText = try reader.optional("schemaText")
        kind =
            switch word {
            case .create: .created
            case .setSchema:
                .schemaSet(
                    revision: try reader.required("schemaRevision"), document: try reader.schema(orText: schemaText))
            case .removeSchema: .schemaRemoved
            case .drop: .dropped
            }
        replaced = try reader.optional("replaced")
        oldRevision = try reader.optional("oldRevision")
        oldSchemaRevision = try reader.optional("oldSchemaRevision")
        forgotten = try reader.optional("forgotten")
    }

    /// Writes what happened as an `op` with what belongs to it.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
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
        writer.endObject()
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

extension SuiteChange.ReplacedSchema: JSONReadable, JSONWritable {
    /// Reads what the journal keeps of a schema that was replaced.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        let text: String? = try reader.optional("schemaText")
        self.init(
            document: try reader.schema(orText: text), text: text, revision: try reader.required("schemaRevision"))
    }

    /// Writes what the journal keeps of a schema that was replaced.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("schemaRevision", revision)
        writer.member(schema: document, orText: text)
        writer.endObject()
    }
}

/// A schema as files keep it: its document, or instead its text where that says more.
extension JSONWriter {
    package mutating func member(schema document: JSONValue, orText text: String?) {
        if let text { member("schemaText", text) } else { member("schema", document) }
    }
}

extension ObjectReader {
    fileprivate func schema(orText text: String?) throws(BodyError) -> JSONValue {
        guard let text else { return try required("schema") }
        return try JSONValue(ofSchemaText: text)
    }
}

extension JSONValue {
    /// The document of a schema whose text was kept.
    package init(ofSchemaText text: String) throws(BodyError) {
        do {
            try self.init(parsing: text)
        } catch {
            throw BodyError("the text of the schema is not JSON: \(error)")
        }
    }
}

/// What is forgotten of keys without a value when their suite is dropped: what it takes to show them as they were.
///
/// Keys with a value have a change of their own in the commit.
public struct ForgottenKeys: Hashable, Sendable {
    /// The revision of keys that are not told of: never written, or removed so long ago that it was forgotten before.
    public var floor: Revision
    /// Keys that had a revision of their own.
    public var keys: [Key]

    /// A key without a value.
    public struct Key: Hashable, Sendable {
        /// The key.
        public var key: KeyName
        /// The last commit that changed it.
        public var revision: Revision
        /// When that was made; nil if nobody knows.
        public var modified: Timestamp?

        /// A key without a value.
        public init(key: KeyName, revision: Revision, modified: Timestamp?) {
            self.key = key
            self.revision = revision
            self.modified = modified
        }
    }

    /// What is forgotten of keys.
    public init(floor: Revision, keys: [Key]) {
        self.floor = floor
        self.keys = keys
    }
}

extension ForgottenKeys: JSONReadable, JSONWritable {
    /// Reads what the journal keeps.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(floor: try reader.required("floor"), keys: try reader.list("keys"))
    }

    /// Writes what the journal keeps.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("floor", floor)
        writer.member("keys", unlessEmpty: keys)
        writer.endObject()
    }
}

extension ForgottenKeys.Key: JSONReadable, JSONWritable {
    /// Reads what the journal keeps of a key.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            key: try reader.required("key"), revision: try reader.required("revision"),
            modified: try reader.optional("modified"))
    }

    /// Writes what the journal keeps of a key.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", key)
        writer.member("revision", revision)
        writer.member("modified", modified)
        writer.endObject()
    }
}
