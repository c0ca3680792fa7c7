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
