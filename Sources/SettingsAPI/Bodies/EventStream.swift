public import SettingsModel

/// One server-sent event of a stream of changes: its name and its data. The event's `id` is the cursor.
public enum StreamEvent: Hashable, Sendable {
    /// The state: `state` at the beginning, `reset` where the observer has to begin anew.
    case state(ObservedState)
    /// One commit.
    case commit(StreamCommit)
    /// The suite that is observed does not exist at this place; a `reset` follows when it does.
    case missing(SuiteName, Cursor)

    /// What `event:` says.
    public var name: String {
        switch self {
        case .state(let state): state.isReset ? "reset" : "state"
        case .commit: "commit"
        case .missing: "missing"
        }
    }

    /// The place in history after this event.
    public var cursor: Cursor {
        switch self {
        case .state(let state): state.cursor
        case .commit(let commit): commit.cursor
        case .missing(_, let cursor): cursor
        }
    }

    /// Reads an event of a stream about one suite, or about several where none is given; nil for an event of a newer
    /// server, which is to be ignored.
    public init?(name: String, data: JSONValue, ofSuite suite: SuiteName?) throws(BodyError) {
        switch name {
        case "state", "reset":
            var state = try ObservedState(json: data)
            state.isReset = name == "reset"
            self = .state(state)
        case "commit":
            self = .commit(try StreamCommit(json: data, ofSuite: suite))
        case "missing":
            let reader = try ObjectReader(data)
            self = .missing(try reader.required("suite"), try reader.required("cursor"))
        default:
            return nil
        }
    }
}

extension StreamEvent: JSONWritable {
    /// Writes the data of the event.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .state(let state): state.write(to: &writer)
        case .commit(let commit): commit.write(to: &writer)
        case .missing(let suite, let cursor):
            writer.beginObject()
            writer.member("suite", suite)
            writer.member("revision", cursor.revision)
            writer.member("cursor", cursor)
            writer.endObject()
        }
    }
}

/// One commit, as far as it matches, in a stream of changes.
public struct StreamCommit: Hashable, Sendable {
    /// What is observed, with what the commit did to suites as a whole.
    public enum Scope: Hashable, Sendable {
        /// One suite: the schema's revision if the commit changed the schema, and whether it dropped the suite.
        case one(schemaRevision: Revision?, isDropped: Bool)
        /// Several suites: those whose schema the commit changed, and those it dropped.
        case several(schemas: [SuiteRevision], dropped: [SuiteName])
    }

    /// What is observed.
    public var scope: Scope
    /// The place in history after the commit.
    public var cursor: Cursor
    /// The changes of keys that match; none where only the schema changed.
    public var changes: [Change]

    /// A commit.
    public init(_ scope: Scope, cursor: Cursor, changes: [Change]) {
        self.scope = scope
        self.cursor = cursor
        self.changes = changes
    }
}

extension StreamCommit: JSONWritable {
    /// Reads the data of an event about one suite, or about several where none is given.
    public init(json: JSONValue, ofSuite suite: SuiteName?) throws(BodyError) {
        let reader = try ObjectReader(json)
        if suite == nil {
            scope = .several(
                schemas: try reader.optional("schemaRevision", SuiteRevision.map) ?? [],
                dropped: try reader.list("dropped"))
        } else {
            scope = .one(
                schemaRevision: try reader.optional("schemaRevision"), isDropped: try reader.flag("dropped"))
        }
        cursor = try reader.required("cursor")
        changes = try reader.required("changes") { json throws(BodyError) in
            try Change.list(json, ofSuite: suite)
        }
    }

    /// Writes the data of the event; changes of one suite do not name it.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("revision", cursor.revision)
        writer.member("cursor", cursor)
        switch scope {
        case .one(let schemaRevision, let isDropped):
            writer.member("schemaRevision", schemaRevision)
            writer.flag("dropped", isDropped)
            writer.member("changes", changes, as: .ofOneSuite)
        case .several(let schemas, let dropped):
            if !schemas.isEmpty { writer.member("schemaRevision", mapOf: schemas) }
            writer.member("dropped", unlessEmpty: dropped)
            writer.member("changes", changes, as: .ofSeveralSuites)
        }
        writer.endObject()
    }
}
