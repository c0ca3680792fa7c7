public import SettingsAPI
public import SettingsModel

/// An answer of the daemon, with the place in history that it is true at.
///
/// The members of the body can be asked for directly: `answer.value`, `answer.isReplayed`.
@dynamicMemberLookup
public struct Answer<Body: Sendable>: Sendable {
    /// The body of the answer.
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
    /// The commit that set it: the revision for the guard of its next write.
    public var revision: Revision

    package init(document: JSONValue, revision: Revision) {
        self.document = document
        self.revision = revision
    }
}

/// The values of a suite that are asked for.
public enum ValueView: String, Hashable, Sendable {
    /// The stored value, else the default.
    case effective
    /// Stored values alone.
    case stored
    /// Defaults alone.
    case `default`
}
