/// One rule of a schema that a value breaks.
///
/// Violations of secrets say what is demanded but not what was there.
public struct Violation: Hashable, Sendable {
    /// The suite, where more than one can be meant.
    public var suite: String?
    /// The key whose value breaks the rule; nil if it is the suite as a whole.
    public var key: String?
    /// Where inside the key's value.
    public var pointer: JSONPointer
    /// The keyword of the schema that demands it, as `maximum`.
    public let keyword: String
    /// What is wrong, with the numbers in it, as `must be at most 1, but is 1.5`.
    public let detail: String
    /// What the keyword demands: its value in the schema, where it is short enough to be helpful.
    public let expected: JSONValue?
    /// What was there, if it is short and no secret.
    public let actual: JSONValue?

    /// A violation.
    public init(
        suite: String? = nil, key: String? = nil, pointer: JSONPointer = .root, keyword: String, detail: String,
        expected: JSONValue? = nil, actual: JSONValue? = nil
    ) {
        self.suite = suite
        self.key = key
        self.pointer = pointer
        self.keyword = keyword
        self.detail = detail
        self.expected = expected
        self.actual = actual
    }

    /// The detail with the name of what it is about, as `player.volume must be at most 1, but is 1.5`.
    public var sentence: String {
        switch (key, pointer.tokens.isEmpty) {
        case (let key?, true): "\(key) \(detail)"
        case (let key?, false): "\(key) at \(pointer) \(detail)"
        case (nil, true): "\(suite ?? "the value") \(detail)"
        case (nil, false): "\(suite ?? "the value") at \(pointer) \(detail)"
        }
    }
}
