/// What the JSON of a type looks like: a JSON Schema for one value, made from words.
public struct WireSchema: Hashable, Sendable {
    /// The schema as a JSON object.
    public var document: JSONObject

    /// A schema of any keywords that settings know.
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

    /// A string of a format such as `uuid`.
    public static func string(format: String) -> WireSchema {
        WireSchema(["type": "string", "format": .string(format)])
    }

    /// A string that matches a pattern of ECMA-262.
    public static func string(pattern: String) -> WireSchema {
        WireSchema(["type": "string", "pattern": .string(pattern)])
    }

    /// One of these values.
    public static func oneOf(_ values: [JSONValue]) -> WireSchema {
        WireSchema(["enum": .array(values)])
    }

    /// An array whose elements look alike.
    public static func array(of element: WireSchema) -> WireSchema {
        WireSchema(["type": "array", "items": element.json])
    }

    /// An object of any names whose values look alike.
    public static func object(of value: WireSchema) -> WireSchema {
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

    /// What any of these allows.
    public static func anyOf(_ schemas: [WireSchema]) -> WireSchema {
        WireSchema(["anyOf": .array(schemas.map(\.json))])
    }

    /// This or `null`.
    public var orNull: WireSchema {
        self == .any ? .any : .anyOf([self, WireSchema(["type": "null"])])
    }

    /// The schema as a JSON value.
    public var json: JSONValue {
        .object(document)
    }
}
