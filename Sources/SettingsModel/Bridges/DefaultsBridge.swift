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

/// A type whose values can be settings.
///
/// The standard types conform. A type of yours conforms without code if it is `RawRepresentable` with a raw value that
/// is serializable, or `Codable`; where it is both, the raw value wins. For any other form give it a bridge:
///
///     enum Theme: String, CaseIterable, DefaultsSerializable { case light, dark }
///     struct Account: Codable, DefaultsSerializable { var name: String; var port: Int }
public protocol DefaultsSerializable: Sendable {
    /// The type of the bridge.
    associatedtype Bridge: DefaultsBridge where Bridge.Value == Self

    /// How values of this type travel.
    static var defaultsBridge: Bridge { get }
}

extension DefaultsSerializable where Self: RawRepresentable, RawValue: DefaultsSerializable {
    /// By the raw value.
    public static var defaultsBridge: RawRepresentableBridge<Self> {
        RawRepresentableBridge()
    }
}

extension DefaultsSerializable where Self: Codable {
    /// By what `Codable` says.
    public static var defaultsBridge: CodableBridge<Self> {
        CodableBridge()
    }
}

extension DefaultsSerializable where Self: RawRepresentable & Codable, RawValue: DefaultsSerializable {
    /// By the raw value: where a type is both, that is the plainer form.
    public static var defaultsBridge: RawRepresentableBridge<Self> {
        RawRepresentableBridge()
    }
}

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
