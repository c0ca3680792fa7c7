public import SettingsModel

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A bridge that consists of two functions and a schema. The types in this file use this bridge; numbers and
/// collections have other bridges. A type with the conformance `StandardForm` has the JSON form of its bridge also
/// inside of `Codable` values.
struct StandardBridge<Value>: DefaultsBridge {
    private let encoding: @Sendable (Value) throws(BridgeError) -> JSONValue
    private let decoding: @Sendable (JSONValue) throws(BridgeError) -> Value
    private let makeSchema: @Sendable () -> WireSchema
    let readsNull: Bool

    fileprivate init(
        _ schema: @escaping @autoclosure @Sendable () -> WireSchema, readsNull: Bool = false,
        encode: @escaping @Sendable (Value) throws(BridgeError) -> JSONValue,
        decode: @escaping @Sendable (JSONValue) throws(BridgeError) -> Value
    ) {
        encoding = encode
        decoding = decode
        makeSchema = schema
        self.readsNull = readsNull
    }

    func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        try encoding(value)
    }

    func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        try decoding(json)
    }

    var schema: WireSchema {
        makeSchema()
    }
}

extension JSONValue {
    /// Returns the text. Throws if the value is not a string.
    fileprivate func text(_ expected: String) throws(BridgeError) -> String {
        guard case .string(let text) = self else { throw BridgeError(expected: expected, found: self) }
        return text
    }
}

extension Bool: DefaultsSerializable {
    /// A JSON boolean. A number is not accepted.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(.boolean) {
            .bool($0)
        } decode: { json throws(BridgeError) in
            guard case .bool(let value) = json else { throw BridgeError(expected: "true or false", found: json) }
            return value
        }
    }
}

extension String: DefaultsSerializable {
    /// A JSON string.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(.string) {
            .string($0)
        } decode: { json throws(BridgeError) in
            try json.text("a string")
        }
    }
}

extension JSONValue: DefaultsSerializable {
    /// Any JSON value. Encoding throws for a number that is not finite and for more than 128 levels of nesting.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(.any, readsNull: true) { value throws(BridgeError) in
            guard value.isNested(atMost: JSONValue.maximumDepth) else {
                throw BridgeError("must nest at most \(JSONValue.maximumDepth) levels deep")
            }
            guard value.isFinite else { throw BridgeError("must contain only finite numbers") }
            return value
        } decode: {
            $0
        }
    }
}

extension Data: DefaultsSerializable, StandardForm {
    /// Base64 text with its padding.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(WireSchema(["type": "string", "contentEncoding": "base64"])) {
            .string($0.base64EncodedString())
        } decode: { json throws(BridgeError) in
            let text = try json.text("Base64 text")
            guard Base64Text.isValid(text), let data = Data(base64Encoded: text) else {
                throw BridgeError("must be Base64 text with its padding")
            }
            return data
        }
    }
}

extension Date: DefaultsSerializable, StandardForm {
    /// RFC 3339 text in UTC, with the shortest fraction from which the same date can be read. The text for a date
    /// outside the years 0 to 9999 contains the seconds since 2001, for example `2001-01-01T00:00:00Z+2.5e+11s`.
    /// Encoding throws for a date that is not finite.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(.anyOf([.string(format: "date-time"), .string(pattern: DateText.extendedPattern)])) {
            date throws(BridgeError) in
            guard let text = DateText.text(for: date) else { throw BridgeError("must be a finite date") }
            return .string(text)
        } decode: { json throws(BridgeError) in
            let expected = StringFormat.dateTime.expectation
            guard let date = DateText.date(from: try json.text(expected)) else {
                throw BridgeError("must be \(expected)")
            }
            return date
        }
    }
}

extension URL: DefaultsSerializable, StandardForm {
    /// The text of the URL. A relative URL with a base is stored as an absolute URL. The schema refuses URLs that
    /// Foundation accepts although RFC 3986 does not allow them, for example with a zone in an IPv6 address.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(WireSchema(["type": "string", "format": "uri-reference", "minLength": 1])) {
            .string($0.absoluteString)
        } decode: { json throws(BridgeError) in
            let text = try json.text("a URL")
            guard StringFormat.uriReference.accepts(text), let url = URL(string: text) else {
                throw BridgeError("must be a URL such as https://example.com/path")
            }
            return url
        }
    }
}

extension UUID: DefaultsSerializable, StandardForm {
    /// Text such as `123E4567-E89B-12D3-A456-426614174000`. Decoding also accepts lower case.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(.string(format: "uuid")) {
            .string($0.uuidString)
        } decode: { json throws(BridgeError) in
            guard let value = UUID(uuidString: try json.text("a UUID")) else {
                throw BridgeError("must be a UUID such as 123e4567-e89b-12d3-a456-426614174000")
            }
            return value
        }
    }
}

extension Decimal: DefaultsSerializable, StandardForm {
    /// A string of decimal digits, because a JSON number would be rounded to a double. Decoding also accepts a JSON
    /// integer.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(WireSchema(["type": ["string", "integer"], "pattern": "^-?[0-9]+([.][0-9]+)?$"])) {
            value throws(BridgeError) in
            guard value.isFinite else { throw BridgeError("must be a decimal number (got NaN)") }
            return .string(value.description)
        } decode: { json throws(BridgeError) in
            if case .integer(let integer) = json { return Decimal(integer) }
            guard let value = DecimalText.decimal(from: try json.text("decimal digits in a string")) else {
                throw BridgeError("must be decimal digits such as 3.14 that a Decimal can represent")
            }
            return value
        }
    }
}

/// Parses decimal numbers without rounding.
private enum DecimalText {
    /// Returns nil if the text is not a decimal number, or if it has more digits than a `Decimal`. `Decimal(string:)`
    /// would parse a part of such a text or round it.
    static func decimal(from text: String) -> Decimal? {
        guard let normalizedText = normalized(text), let value = Decimal(string: text), value.isFinite,
            normalized(value.description) == normalizedText
        else { return nil }
        return value
    }

    /// Returns the sign, the digits and the point without leading zeros and trailing fraction zeros. Returns nil if the
    /// text is not a decimal number.
    private static func normalized(_ text: String) -> String? {
        var cursor = ByteCursor(text)
        let isNegative = cursor.consume("-")
        let whole = cursor.consume(while: .digits)
        let hasPoint = cursor.consume(".")
        var fraction = hasPoint ? cursor.consume(while: .digits) : []
        guard !whole.isEmpty, !hasPoint || !fraction.isEmpty, cursor.isAtEnd else { return nil }
        while fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
        let digits = whole.drop { $0 == UInt8(ascii: "0") }
        let sign = isNegative && !(digits.isEmpty && fraction.isEmpty) ? "-" : ""
        return sign + String(decoding: digits + ".".utf8 + fraction, as: UTF8.self)
    }
}
