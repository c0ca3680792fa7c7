/// One server-sent event of a stream of changes: its name and its data. The event's `id` is the cursor.
public enum StreamEvent: Hashable, Sendable {
    /// The state: `state` at the beginning, `reset` where the observer has to begin anew.
    case state(ObservedState)
    /// One commit.
    case commit(StreamCommit)

    /// What `event:` says.
    public var name: String {
        switch self {
        case .state(let state): state.isReset ? "reset" : "state"
        case .commit: "commit"
        }
    }

    /// The place in history after this event.
    public var cursor: Cursor {
        switch self {
        case .state(let state): state.cursor
        case .commit(let commit): commit.cursor
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
        }
    }
}
