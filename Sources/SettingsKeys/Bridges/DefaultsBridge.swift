public import SettingsModel

/// A converter of one type's values to JSON and back, with the schema of that JSON.
///
/// A type that wants a form of its own writes one of these and returns it from ``DefaultsSerializable/defaultsBridge``;
/// optionals, arrays, sets and dictionaries of it follow by composition.
public protocol DefaultsBridge<Value>: Sendable {
    /// The type of the values.
    associatedtype Value

    /// Encodes a value. Throws if it has no JSON form, as a number that is not finite.
    func encode(_ value: Value) throws(BridgeError) -> JSONValue

    /// Decodes a value. Throws, with the place and what was expected, if the JSON stands for none.
    func decode(_ json: JSONValue) throws(BridgeError) -> Value

    /// The form of the JSON. Every value that ``encode(_:)`` returns must be valid under it.
    var schema: WireSchema { get }

    /// Encodes a value to store; nil to store nothing. Only optionals store nothing, for `nil`.
    func encodeStored(_ value: Value) throws(BridgeError) -> JSONValue?

    /// The form of stored JSON.
    var storedSchema: WireSchema { get }

    /// True if `null` is the JSON of some value.
    var readsNull: Bool { get }

    /// Returns the bridge for keys that opt in to numbers that are not finite, written as `Infinity`, `-Infinity` and
    /// `NaN`.
    func allowingNonFinite() -> Self
}

extension DefaultsBridge {
    /// Stores every value.
    public func encodeStored(_ value: Value) throws(BridgeError) -> JSONValue? {
        try encode(value)
    }

    /// The form of any value.
    public var storedSchema: WireSchema {
        schema
    }

    /// False: most types have no value that is written as `null`.
    public var readsNull: Bool {
        false
    }

    /// Returns the bridge itself: most types hold no floating-point numbers.
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

    /// The bridge of this type.
    static var defaultsBridge: Bridge { get }
}

extension DefaultsSerializable where Self: RawRepresentable, RawValue: DefaultsSerializable {
    /// The bridge by the raw value.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RawRepresentableBridge<Self>()
    }
}

extension DefaultsSerializable where Self: Codable {
    /// The bridge by `Codable`.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        CodableBridge<Self>()
    }
}

extension DefaultsSerializable where Self: RawRepresentable & Codable, RawValue: DefaultsSerializable {
    /// The bridge by the raw value, which is the plainer form where a type is both.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RawRepresentableBridge<Self>()
    }
}

/// An error that says why a value has no JSON form, or why JSON is not a value of the type.
public struct BridgeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place inside the value.
    public let pointer: JSONPointer
    /// The cause, as `must be an integer, but is a string`.
    public let reason: String
    /// The name of the member that the object at the pointer lacks, if the lack is the cause.
    let missingMember: String?

    /// Makes an error about a value as a whole.
    public init(_ reason: String) {
        self.init(at: .root, reason)
    }

    /// Makes an error about a part of a value.
    public init(at pointer: JSONPointer, _ reason: String) {
        self.init(at: pointer, reason, missingMember: nil)
    }

    /// Makes an error about an object that lacks a member.
    init(missingMember name: String, at pointer: JSONPointer) {
        self.init(at: pointer, "is missing the member \"\(name)\"", missingMember: name)
    }

    private init(at pointer: JSONPointer, _ reason: String, missingMember: String?) {
        self.pointer = pointer
        self.reason = reason
        self.missingMember = missingMember
    }

    /// Makes an error about a value of the wrong kind.
    public init(expected: String, found json: JSONValue) {
        self.init("must be \(expected), but is \(json.kindPhrase)")
    }

    /// Makes an error about a number that a type cannot hold. Not inlined, as the bridge of each integer type has it.
    @inline(never)
    init(outside least: String, _ greatest: String, found json: JSONValue) {
        self.init("must be between \(least) and \(greatest), but is \(json)")
    }

    /// Returns the same error seen from the array or object around the value.
    package func inside(_ token: String) -> BridgeError {
        BridgeError(at: JSONPointer([token] + pointer.tokens), reason, missingMember: missingMember)
    }

    /// The reason, after the place if that is not the value as a whole.
    public var description: String {
        pointer == .root ? reason : "\(pointer) \(reason)"
    }
}

/// A JSON Schema for the values of one type.
public struct WireSchema: Sendable {
    /// The schema as a JSON object.
    public var document: JSONObject

    /// Makes a schema of any supported keywords.
    public init(_ document: JSONObject) {
        self.document = document
    }

    /// Any JSON value.
    public static let any = WireSchema([:])
    /// `true` or `false`.
    public static let boolean = WireSchema(["type": "boolean"])
    /// An integer of 64 bits.
    public static let integer = WireSchema(["type": "integer"])
    /// Any number.
    public static let number = WireSchema(["type": "number"])
    /// Any string.
    public static let string = WireSchema(["type": "string"])

    /// An integer between limits.
    public static func integer(in range: ClosedRange<Int64>) -> WireSchema {
        WireSchema([
            "type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound),
        ])
    }

    /// A string of a format.
    package static func string(format: String) -> WireSchema {
        WireSchema(["type": "string", "format": .string(format)])
    }

    /// A string that matches a pattern.
    public static func string(pattern: String) -> WireSchema {
        WireSchema(["type": "string", "pattern": .string(pattern)])
    }

    /// One of several values.
    public static func oneOf(_ values: [JSONValue]) -> WireSchema {
        WireSchema(["enum": .array(values)])
    }

    /// An array of equal elements.
    package static func array(of element: WireSchema) -> WireSchema {
        WireSchema(["type": "array", "items": element.json])
    }

    /// An object of any names.
    package static func object(of value: WireSchema) -> WireSchema {
        WireSchema(["type": "object", "additionalProperties": value.json])
    }

    /// An object of exactly these members.
    public static func object(exactly members: KeyValuePairs<String, WireSchema>) -> WireSchema {
        var properties = JSONObject()
        for (name, schema) in members { properties[name] = schema.json }
        return WireSchema([
            "type": "object", "properties": .object(properties),
            "required": .array(members.map { .string($0.key) }), "additionalProperties": false,
        ])
    }

    /// A value that one of several schemas allows.
    package static func anyOf(_ schemas: [WireSchema]) -> WireSchema {
        WireSchema(["anyOf": .array(schemas.map(\.json))])
    }

    var orNull: WireSchema {
        document.isEmpty ? .any : .anyOf([self, WireSchema(["type": "null"])])
    }

    /// The schema as a JSON value.
    package var json: JSONValue {
        .object(document)
    }
}
