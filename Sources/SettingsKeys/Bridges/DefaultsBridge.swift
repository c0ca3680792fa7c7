public import SettingsModel

/// A converter between the values of a type and JSON, with the schema of the JSON.
///
/// To give a type its own JSON form, write a bridge and return it from ``DefaultsSerializable/defaultsBridge``.
/// Optionals, arrays, sets and dictionaries of the type then use the bridge.
public protocol DefaultsBridge<Value>: Sendable {
    /// The type of the values.
    associatedtype Value

    /// Encodes a value. Throws if the value has no JSON form, for example if it is a number that is not finite.
    func encode(_ value: Value) throws(BridgeError) -> JSONValue

    /// Decodes a value. If the JSON is not a value of the type, throws an error with the position and the expected
    /// JSON.
    func decode(_ json: JSONValue) throws(BridgeError) -> Value

    /// The schema of the JSON. It must allow every value that ``encode(_:)`` returns.
    var schema: WireSchema { get }

    /// Encodes a value for storage. Returns nil if no value is to be stored. Only the bridge of optionals returns nil,
    /// for the value `nil`.
    func encodeStored(_ value: Value) throws(BridgeError) -> JSONValue?

    /// The schema of the JSON that ``encodeStored(_:)`` returns.
    var storedSchema: WireSchema { get }

    /// True if the type decodes `null`.
    var readsNull: Bool { get }

    /// Returns a bridge that also encodes numbers that are not finite, as the strings `Infinity`, `-Infinity` and
    /// `NaN`. Keys with `nonFinite: true` use it.
    func allowingNonFinite() -> Self
}

extension DefaultsBridge {
    /// Returns the JSON of `encode(_:)`, because most types store every value.
    public func encodeStored(_ value: Value) throws(BridgeError) -> JSONValue? {
        try encode(value)
    }

    /// The same as `schema`, because most types store every value.
    public var storedSchema: WireSchema {
        schema
    }

    /// False, because most types do not decode `null`.
    public var readsNull: Bool {
        false
    }

    /// Returns the bridge itself, because most types contain no floating-point numbers.
    public func allowingNonFinite() -> Self {
        self
    }
}

/// A type whose values can be settings.
///
/// The standard types conform. Your own type conforms without code if it is `Codable`, or if it is `RawRepresentable`
/// and its raw value conforms. If both apply, the raw value is stored. For any other JSON form, write a bridge.
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
    /// A bridge that encodes the raw value.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RawRepresentableBridge<Self>()
    }
}

extension DefaultsSerializable where Self: Codable {
    /// A bridge that encodes with the `Codable` implementation.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        CodableBridge<Self>()
    }
}

extension DefaultsSerializable where Self: RawRepresentable & Codable, RawValue: DefaultsSerializable {
    /// A bridge that encodes the raw value, whose JSON is simpler than the JSON of the `Codable` implementation.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        RawRepresentableBridge<Self>()
    }
}

/// An error that says why a value has no JSON form, or why JSON is not a value of the type.
public struct BridgeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The position inside the value.
    package let pointer: JSONPointer
    /// The cause, for example `must be an integer (got a string)`.
    package let reason: String
    /// The name of the missing member, if the cause is that the object at the pointer lacks a member.
    let missingMember: String?

    /// Creates an error about a value as a whole.
    public init(_ reason: String) {
        self.init(at: .root, reason)
    }

    /// Creates an error about a part of a value.
    package init(at pointer: JSONPointer, _ reason: String) {
        self.init(at: pointer, reason, missingMember: nil)
    }

    init(missingMember name: String, at pointer: JSONPointer) {
        self.init(at: pointer, "is missing the member \"\(name)\"", missingMember: name)
    }

    private init(at pointer: JSONPointer, _ reason: String, missingMember: String?) {
        self.pointer = pointer
        self.reason = reason
        self.missingMember = missingMember
    }

    /// Creates an error about a value of the wrong type.
    public init(expected: String, found json: JSONValue) {
        self.init("must be \(expected) (got \(json.kindPhrase))")
    }

    /// Creates an error about a number that is out of range. Not inlined, because the bridge of each integer type would
    /// contain the code.
    @inline(never)
    init(outside least: String, _ greatest: String, found json: JSONValue) {
        self.init("must be between \(least) and \(greatest) (got \(json))")
    }

    /// Returns the error with a pointer that starts at the array or object around the value.
    ///
    /// - Parameter token: The index or the name of the value in the array or object.
    package func inside(_ token: String) -> BridgeError {
        BridgeError(at: JSONPointer([token] + pointer.tokens), reason, missingMember: missingMember)
    }

    /// The reason. If the error is about a part of the value, the pointer precedes the reason.
    public var description: String {
        pointer == .root ? reason : "at \(pointer): \(reason)"
    }
}

/// A JSON Schema for the values of one type.
public struct WireSchema: Sendable {
    /// The schema as a JSON object.
    public var document: JSONObject

    /// Creates a schema from a JSON object with supported keywords.
    public init(_ document: JSONObject) {
        self.document = document
    }

    /// Any JSON value.
    public static let any = WireSchema([:])
    /// `true` or `false`.
    public static let boolean = WireSchema(["type": "boolean"])
    /// An integer. The daemon accepts only integers of 64 bits.
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

    package static func string(format: String) -> WireSchema {
        WireSchema(["type": "string", "format": .string(format)])
    }

    /// A string that matches a pattern.
    public static func string(pattern: String) -> WireSchema {
        WireSchema(["type": "string", "pattern": .string(pattern)])
    }

    /// One of several values: the keyword `enum`, not the keyword `oneOf`.
    package static func oneOf(_ values: [JSONValue]) -> WireSchema {
        WireSchema(["enum": .array(values)])
    }

    package static func array(of element: WireSchema) -> WireSchema {
        WireSchema(["type": "array", "items": element.json])
    }

    /// An object with any member names, whose values have this schema.
    package static func object(of value: WireSchema) -> WireSchema {
        WireSchema(["type": "object", "additionalProperties": value.json])
    }

    /// An object with exactly these members.
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

    package var json: JSONValue {
        .object(document)
    }
}
