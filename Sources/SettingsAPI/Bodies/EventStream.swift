package import SettingsModel

/// One server-sent event of a stream of changes. The event's `id` is the cursor.
package enum StreamEvent: Equatable, Sendable {
    /// The state: `state` at the beginning, `reset` where the observer has to begin anew.
    case state(ObservedState)
    case commit(StreamCommit)
    /// The observed suite does not exist at this place; a `reset` follows when it does.
    case missing(SuiteName, Cursor)

    /// The value of `event:`.
    package var name: String {
        switch self {
        case .state(let state): state.isReset ? "reset" : "state"
        case .commit: "commit"
        case .missing: "missing"
        }
    }

    /// The place in history after this event.
    package var cursor: Cursor {
        switch self {
        case .state(let state): state.cursor
        case .commit(let commit): commit.cursor
        case .missing(_, let cursor): cursor
        }
    }

    /// Reads an event of a stream about one suite, or about several for nil. Returns nil for an event of a newer server,
    /// which clients ignore.
    package init?(name: String, data: JSONValue, ofSuite suite: SuiteName?) throws(BodyError) {
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
    package func write(to writer: inout JSONWriter) {
        switch self {
        case .state(let state): state.write(to: &writer)
        case .commit(let commit): commit.write(to: &writer)
        case .missing(let suite, let cursor):
            writer.beginObject()
            writer.member("suite", suite)
            writer.place(cursor)
            writer.endObject()
        }
    }
}

/// The matching part of one commit in a stream of changes.
package struct StreamCommit: Equatable, Sendable {
    /// The observed suites, with the commit's changes of suites as a whole.
    package enum Scope: Equatable, Sendable {
        /// The schema's revision if the commit changed the schema.
        case one(schemaRevision: Revision?, isDropped: Bool)
        /// The suites whose schema the commit changed, and those that it dropped.
        case several(schemas: [SuiteRevision], dropped: [SuiteName])
    }

    package var scope: Scope
    /// The place in history after the commit.
    package var cursor: Cursor
    /// The matching changes of keys; none where only the schema changed.
    package var changes: [Change]

    package init(_ scope: Scope, cursor: Cursor, changes: [Change]) {
        self.scope = scope
        self.cursor = cursor
        self.changes = changes
    }
}

extension StreamCommit: JSONWritable {
    /// Reads an event about one suite, or about several for nil.
    package init(json: JSONValue, ofSuite suite: SuiteName?) throws(BodyError) {
        let reader = try ObjectReader(json)
        if suite == nil {
            scope = .several(
                schemas: try reader.optional("schemaRevision", SuiteRevision.map) ?? [],
                dropped: try reader.list("dropped"))
        } else {
            scope = .one(schemaRevision: try reader.optional("schemaRevision"), isDropped: try reader.flag("dropped"))
        }
        cursor = try reader.required("cursor")
        changes = try reader.changes(ofSuite: suite)
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.place(cursor)
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
