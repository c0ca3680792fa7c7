/// Decodable values from JSON, by what their `init(from:)` does.
///
/// Members that nobody asks for are ignored, so that a type may lose fields; names are told apart by their bytes.
struct JSONValueDecoder {
    let allowsNonFinite: Bool

    /// Throws, with its place, what is missing, of another kind than the type asks for, or refused by the type's own
    /// code, and JSON that nests more than `JSONValue.maximumDepth` levels where the type follows it.
    func decode<Value: Decodable>(_ type: Value.Type, from json: JSONValue) throws(BridgeError) -> Value {
        let session = CodingSession(allowsNonFinite: allowsNonFinite)
        do {
            return try ValueDecoder(of: json, at: .root, in: session, calls: 0).decode(type)
        } catch {
            throw session.bridgeError(for: error)
        }
    }
}
