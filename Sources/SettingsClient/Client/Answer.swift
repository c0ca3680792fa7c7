public import SettingsModel

/// What the daemon answered, with the place in history that it is true at.
///
/// The members of the body can be asked for directly: `answer.value`, `answer.isReplayed`.
@dynamicMemberLookup
public struct Answer<Body: Sendable>: Sendable {
    /// What was answered.
    public let body: Body
    /// The place in history that the answer is true at: where to observe from.
    public let cursor: Cursor
    /// In the answer to storing one value: whether nothing was stored before.
    public let isCreated: Bool

    init(body: Body, cursor: Cursor, isCreated: Bool) {
        self.body = body
        self.cursor = cursor
        self.isCreated = isCreated
    }

    /// A member of the body.
    public subscript<Value>(dynamicMember path: KeyPath<Body, Value>) -> Value {
        body[keyPath: path]
    }
}

extension Answer: Equatable where Body: Equatable {}
extension Answer: Hashable where Body: Hashable {}

/// The schema of a suite as it was sent to the daemon.
public struct SchemaDocument: Hashable, Sendable {
    /// The document; `Schema` understands it.
    public var document: JSONValue
    /// The commit that set it: what a guard of the next write of it names.
    public var revision: Revision
}

/// Which values of a suite are asked for.
public enum ValueView: String, Hashable, Sendable {
    /// What a reader gets: the stored value, else the default.
    case effective
    /// Stored values alone.
    case stored
    /// Defaults alone.
    case `default`
}

/// What becomes of stored values that a new schema does not fit.
public enum ConflictPolicy: String, Hashable, Sendable {
    /// The schema is refused with all conflicts.
    case refuse
    /// They stay as they are, invalid until a schema fits them again.
    case keep
    /// They are taken away.
    case reset
}
