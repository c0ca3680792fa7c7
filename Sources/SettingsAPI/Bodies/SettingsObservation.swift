public import SettingsModel

/// The answer to observing: the state, or what changed.
public enum SettingsObservation: Hashable, Sendable {
    /// The state, as the first answer or because the observer has to begin anew.
    case state(ObservedState)
    /// What changed since the cursor that was sent.
    case changes(ObservedChanges)

    /// The place in history to go on from.
    public var cursor: Cursor {
        switch self {
        case .state(let state): state.cursor
        case .changes(let changes): changes.cursor
        }
    }
}

extension SettingsObservation: JSONReadable, JSONWritable {
    /// Reads an answer: what has values is a state.
    public init(json: JSONValue) throws(BodyError) {
        if json["values"] == nil {
            self = .changes(try ObservedChanges(json: json))
        } else {
            self = .state(try ObservedState(json: json))
        }
    }

    /// Writes the one or the other.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .state(let state): state.write(to: &writer)
        case .changes(let changes): changes.write(to: &writer)
        }
    }
}
