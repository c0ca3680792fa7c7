/// How values of one type travel: to JSON, back, and as a schema.
///
/// A type that wants a form of its own writes one of these and returns it from ``DefaultsSerializable/defaultsBridge``;
/// optionals, arrays, sets and dictionaries of it follow by composition.
public protocol DefaultsBridge<Value>: Sendable {
    /// The type of the values.
    associatedtype Value

    /// The value as JSON. Throws if it has no JSON form, as a number that is not finite.
    func encode(_ value: Value) throws(BridgeError) -> JSONValue

    /// The value that the JSON stands for. Throws, with the place and what was expected, if it stands for none; no
    /// other value is ever taken instead.
    func decode(_ json: JSONValue) throws(BridgeError) -> Value

    /// What the JSON must look like. Every value that ``encode(_:)`` gives must be valid under it.
    var schema: WireSchema { get }

    /// The JSON to store for a key of this type; nil to store nothing. Only optionals store nothing, for `nil`.
    func encodeStored(_ value: Value) throws(BridgeError) -> JSONValue?

    /// What the JSON stored for a key of this type must look like.
    var storedSchema: WireSchema { get }

    /// Whether `null` is the JSON of some value.
    var readsNull: Bool { get }

    /// The same bridge, but one that writes numbers that are not finite as the strings `Infinity`, `-Infinity` and
    /// `NaN`. For keys that opt in; a bridge without floating-point numbers is its own.
    func allowingNonFinite() -> Self
}

extension DefaultsBridge {
    /// Stores every value.
    public func encodeStored(_ value: Value) throws(BridgeError) -> JSONValue? {
        try encode(value)
    }

    /// Stored values look like any others.
    public var storedSchema: WireSchema {
        schema
    }

    /// Most types have no value that is written as `null`.
    public var readsNull: Bool {
        false
    }

    /// Most types hold no floating-point numbers.
    public func allowingNonFinite() -> Self {
        self
    }
}
