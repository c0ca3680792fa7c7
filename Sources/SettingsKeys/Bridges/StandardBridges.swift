public import SettingsModel

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A bridge of a standard type without parts.
struct StandardBridge<Value>: DefaultsBridge {
    private let encoding: @Sendable (Value) throws(BridgeError) -> JSONValue
    private let decoding: @Sendable (JSONValue) throws(BridgeError) -> Value
    private let form: @Sendable () -> WireSchema
    /// True if `null` is the JSON of some value.
    let readsNull: Bool

    fileprivate init(
        _ form: @escaping @autoclosure @Sendable () -> WireSchema, readsNull: Bool = false,
        encode: @escaping @Sendable (Value) throws(BridgeError) -> JSONValue,
        decode: @escaping @Sendable (JSONValue) throws(BridgeError) -> Value
    ) {
        encoding = encode
        decoding = decode
        self.form = form
        self.readsNull = readsNull
    }

    /// Encodes a value in the standard form of its type.
    func encode(_ value: Value) throws(BridgeError) -> JSONValue {
        try encoding(value)
    }

    /// Decodes the standard form of the type.
    func decode(_ json: JSONValue) throws(BridgeError) -> Value {
        try decoding(json)
    }

    /// The standard form of the type.
    var schema: WireSchema {
        form()
    }
}

extension JSONValue {
    /// The text. Throws for any other value.
    fileprivate func text(_ expected: String) throws(BridgeError) -> String {
        guard case .string(let text) = self else { throw BridgeError(expected: expected, found: self) }
        return text
    }
}

extension Bool: DefaultsSerializable {
    /// A JSON boolean. A number is none.
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
    /// The value itself. Encoding throws for a number that is not finite and for more than 128 levels.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(.any, readsNull: true) { value throws(BridgeError) in
            guard value.isNested(atMost: JSONValue.maximumDepth) else {
                throw BridgeError("must nest at most \(JSONValue.maximumDepth) levels deep")
            }
            guard value.isFinite else { throw BridgeError("must hold finite numbers only") }
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
    /// RFC 3339 text in UTC, with the shortest fraction that reads back to the same instant; outside the years 0 to
    /// 9999 the distance from the reference date, as `2001-01-01T00:00:00Z+2.5e+11s`. Encoding throws for a date
    /// infinitely far away.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(.anyOf([.string(format: "date-time"), .string(pattern: InstantText.extendedPattern)])) {
            date throws(BridgeError) in
            guard let text = InstantText.text(for: date) else { throw BridgeError("must be a finite date") }
            return .string(text)
        } decode: { json throws(BridgeError) in
            let expected = StringFormat.dateTime.expectation
            guard let date = InstantText.date(from: try json.text(expected)) else {
                throw BridgeError("must be \(expected)")
            }
            return date
        }
    }
}

extension URL: DefaultsSerializable, StandardForm {
    /// The text of an absolute URL, also for a relative one with a base. The schema refuses what Foundation takes and
    /// RFC 3986 does not, as a zone in an IPv6 address.
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
    /// Text with four hyphens, read in either case.
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
    /// The string of the digits, as a JSON number would be rounded to a double. Read from an integer, too.
    public static var defaultsBridge: some DefaultsBridge<Self> {
        StandardBridge(WireSchema(["type": ["string", "integer"], "pattern": "^-?[0-9]+([.][0-9]+)?$"])) {
            value throws(BridgeError) in
            guard value.isFinite else { throw BridgeError("must be a decimal number, but is not a number") }
            return .string(value.description)
        } decode: { json throws(BridgeError) in
            if case .integer(let integer) = json { return Decimal(integer) }
            guard let value = DecimalText.decimal(from: try json.text("decimal digits in a string")) else {
                throw BridgeError("must be decimal digits such as 3.14, no more than a Decimal holds")
            }
            return value
        }
    }
}

/// A reader of decimals from their digits, all or nothing.
private enum DecimalText {
    /// Returns nil for other text and for more digits than a decimal holds, which `Decimal(string:)` would read in part
    /// or round.
    static func decimal(from text: String) -> Decimal? {
        guard let written = normalized(text), let value = Decimal(string: text), value.isFinite,
            normalized(value.description) == written
        else { return nil }
        return value
    }

    /// Returns sign and digits without superfluous zeros.
    private static func normalized(_ text: String) -> String? {
        var cursor = ByteCursor(text)
        let isNegative = cursor.take("-")
        let whole = cursor.take(while: .digits)
        let hasPoint = cursor.take(".")
        var fraction = hasPoint ? cursor.take(while: .digits) : []
        guard !whole.isEmpty, !hasPoint || !fraction.isEmpty, cursor.isAtEnd else { return nil }
        while fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
        let digits = whole.drop { $0 == UInt8(ascii: "0") }
        let sign = isNegative && !(digits.isEmpty && fraction.isEmpty) ? "-" : ""
        return sign + String(decoding: digits + ".".utf8 + fraction, as: UTF8.self)
    }
}
