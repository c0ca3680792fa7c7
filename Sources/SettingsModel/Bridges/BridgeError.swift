/// Why a value has no JSON form, or why JSON is not a value of the type.
public struct BridgeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where inside the value.
    public let pointer: JSONPointer
    /// What is wrong, as `must be an integer, but is a string`.
    public let reason: String

    /// An error about a value as a whole.
    public init(_ reason: String) {
        self.init(at: .root, reason)
    }

    /// An error about a part of a value.
    public init(at pointer: JSONPointer, _ reason: String) {
        self.pointer = pointer
        self.reason = reason
    }

    /// An error that says what was expected and what kind of value was there instead.
    public init(expected: String, found json: JSONValue) {
        self.init("must be \(expected), but is \(json.kindPhrase)")
    }

    /// The same error seen from the array or object around the value.
    public func inside(_ token: String) -> BridgeError {
        BridgeError(at: JSONPointer([token] + pointer.tokens), reason)
    }

    /// The reason, after the place if that is not the value as a whole.
    public var description: String {
        pointer == .root ? reason : "\(pointer) \(reason)"
    }
}
