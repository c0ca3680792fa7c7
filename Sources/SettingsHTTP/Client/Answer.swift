public import SettingsAPI
internal import SettingsModel

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
