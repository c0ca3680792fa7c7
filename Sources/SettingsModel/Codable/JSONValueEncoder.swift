/// Encodable values as JSON, by what their `encode(to:)` does.
///
/// A keyed container is an object with its members in the order in which they were encoded, an unkeyed one is an
/// array. A value that encodes nothing at all is an empty object. Types with a form of their own keep it everywhere.
struct JSONValueEncoder {
    let allowsNonFinite: Bool

    /// Throws what the value's own code throws, with its place. So does a value that nests more than
    /// `JSONValue.maximumDepth` levels, or that asks for containers of different kinds at one place.
    func encode<Value: Encodable>(_ value: Value) throws(BridgeError) -> JSONValue {
        let session = CodingSession(allowsNonFinite: allowsNonFinite)
        do {
            return try ValueEncoder(at: .root, in: session, calls: 0).json(of: value, at: .root)
        } catch {
            throw session.bridgeError(for: error)
        }
    }
}
