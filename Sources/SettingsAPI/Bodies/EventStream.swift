package import SettingsModel

/// A server-sent event of a stream of changes. The `id` of the event is the cursor.
package enum StreamEvent: Equatable, Sendable {
    /// The state. The event is `state` at the beginning of the stream, and `reset` if the watcher must replace its
    /// state.
    case state(ObservedState)
    case commit(StreamCommit)
    /// The watched suite does not exist. The event `reset` follows when the suite exists.
    case missing(SuiteName, Cursor)

    /// The value of the line `event:`.
    package var name: String {
        switch self {
        case .state(let state): state.isReset ? "reset" : "state"
        case .commit: "commit"
        case .missing: "missing"
        }
    }

    /// The cursor after this event.
    package var cursor: Cursor {
        switch self {
        case .state(let state): state.cursor
        case .commit(let commit): commit.cursor
        case .missing(_, let cursor): cursor
        }
    }

    /// Reads an event. `suite` is the suite of a stream about one suite, and nil for a stream about several suites.
    /// Returns nil for an unknown event of a newer server, which clients ignore.
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
            writer.members(revisionAndCursor: cursor)
            writer.endObject()
        }
    }
}

/// The part of one commit that a stream of changes reports.
package struct StreamCommit: Equatable, Sendable {
    /// Whether the stream is about one suite or several, with the changes of these suites as a whole: of the schema, or
    /// a drop.
    package enum Scope: Equatable, Sendable {
        /// One suite. `schemaRevision` is nil unless the commit changed the schema.
        case one(schemaRevision: Revision?, isDropped: Bool)
        /// Several suites: the suites whose schema the commit changed, and the suites that it dropped.
        case several(schemas: [SuiteRevision], dropped: [SuiteName])
    }

    package var scope: Scope
    /// The cursor after the commit.
    package var cursor: Cursor
    /// The reported changes of keys; empty if the event reports only a change of the schema or a drop.
    package var changes: [Change]

    package init(_ scope: Scope, cursor: Cursor, changes: [Change]) {
        self.scope = scope
        self.cursor = cursor
        self.changes = changes
    }
}

extension StreamCommit: JSONWritable {
    /// Reads an event. `suite` is the suite of a stream about one suite, and nil for a stream about several suites.
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
        writer.members(revisionAndCursor: cursor)
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
