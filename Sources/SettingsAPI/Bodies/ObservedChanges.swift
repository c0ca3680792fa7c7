public import SettingsModel

/// What happened to what an observer watches since it last heard: none, one or several commits.
public struct ObservedChanges: Hashable, Sendable {
    /// What is observed.
    public enum Scope: Hashable, Sendable {
        /// One suite with the revision of its schema, and whether it was dropped.
        case one(schema: SuiteRevision, isDropped: Bool)
        /// Several suites with the revisions of their schemas, ordered by name; which were dropped; and which of the
        /// names asked for do not exist.
        case several(schemas: [SuiteRevision], dropped: [SuiteName], missing: [SuiteName])
    }

    /// What is observed.
    public var scope: Scope
    /// The place in history to go on from.
    public var cursor: Cursor
    /// The changes in order of their revisions.
    public var changes: [Change]
    /// Whether there were more changes than asked for: ask again from the cursor at once.
    public var hasMore: Bool
    /// When to come back, in milliseconds, where the daemon is going down.
    public var retryAfterMs: Int64?

    /// An answer.
    public init(
        _ scope: Scope, cursor: Cursor, changes: [Change], hasMore: Bool = false, retryAfterMs: Int64? = nil
    ) {
        self.scope = scope
        self.cursor = cursor
        self.changes = changes
        self.hasMore = hasMore
        self.retryAfterMs = retryAfterMs
    }
}

extension ObservedChanges: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        let suite: SuiteName? = try reader.optional("suite")
        let scope: Scope
        if let suite {
            let schema = SuiteRevision(suite: suite, revision: try reader.required("schemaRevision"))
            scope = .one(schema: schema, isDropped: try reader.flag("dropped"))
        } else {
            scope = .several(
                schemas: try reader.optional("schemaRevision", SuiteRevision.map) ?? [],
                dropped: try reader.list("dropped"), missing: try reader.list("missing"))
        }
        self.init(
            scope, cursor: try reader.required("cursor"),
            changes: try reader.required("changes") { json throws(BodyError) in
                try Change.list(json, ofSuite: suite)
            },
            hasMore: try reader.flag("more"), retryAfterMs: try reader.optional("retryAfterMs"))
    }

    /// Writes the answer; changes of one suite do not repeat its name.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch scope {
        case .one(let schema, let isDropped):
            writer.member("suite", schema.suite)
            writer.member("revision", cursor.revision)
            writer.member("cursor", cursor)
            writer.member("schemaRevision", schema.revision)
            writer.flag("dropped", isDropped)
            writer.member("changes", changes, as: .ofOneSuite)
        case .several(let schemas, let dropped, let missing):
            writer.member("revision", cursor.revision)
            writer.member("cursor", cursor)
            writer.member("schemaRevision", mapOf: schemas)
            writer.member("dropped", unlessEmpty: dropped)
            writer.member("missing", unlessEmpty: missing)
            writer.member("changes", changes, as: .ofSeveralSuites)
        }
        writer.flag("more", hasMore)
        writer.member("retryAfterMs", retryAfterMs)
        writer.endObject()
    }
}

extension Change {
    /// Changes of one suite, or of several where each names its own.
    static func list(_ json: JSONValue, ofSuite suite: SuiteName?) throws(BodyError) -> [Change] {
        try BodyValue.list(json) { json throws(BodyError) in
            if let suite { try Change(json: json, ofSuite: suite) } else { try Change(json: json) }
        }
    }
}
