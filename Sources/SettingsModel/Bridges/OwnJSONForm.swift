/// A standard type whose JSON is its bridge's wherever it stands, also as a part of a Codable value.
///
/// What `Codable` alone makes of these would lose something or be unreadable to anybody else: a date as seconds since
/// 2001, data as a list of numbers, a decimal as its bits.
protocol OwnJSONForm: DefaultsSerializable {}

extension OwnJSONForm {
    /// The value in its own form.
    var ownJSON: JSONValue {
        get throws(BridgeError) { try Self.defaultsBridge.encode(self) }
    }

    /// Reads the type's own form.
    init(ownJSON json: JSONValue) throws(BridgeError) {
        self = try Self.defaultsBridge.decode(json)
    }
}
