#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Data as Base64 text.
public struct DataBridge: DefaultsBridge {
    /// All data has this form.
    public func encode(_ value: Data) throws(BridgeError) -> JSONValue {
        .string(value.base64EncodedString())
    }

    /// Takes Base64 with its padding and nothing else.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Data {
        guard case .string(let text) = json else { throw BridgeError(expected: "Base64 text", found: json) }
        guard Base64Text.isValid(text), let data = Data(base64Encoded: text) else {
            throw BridgeError("must be Base64 text with its padding")
        }
        return data
    }

    /// A string whose content is encoded in Base64.
    public var schema: WireSchema {
        WireSchema(["type": "string", "contentEncoding": "base64"])
    }
}

extension Data: OwnJSONForm {
    /// As Base64 text.
    public static var defaultsBridge: DataBridge {
        DataBridge()
    }
}

/// Dates as RFC 3339 text in UTC, with the shortest fraction that reads back to the same instant.
///
/// A date outside the years 0 to 9999 is written relative to the reference date, as `2001-01-01T00:00:00Z+2.5e+11s`.
public struct DateBridge: DefaultsBridge {
    /// Throws for a date that is infinitely far away.
    public func encode(_ value: Date) throws(BridgeError) -> JSONValue {
        guard let text = InstantText.text(for: value) else { throw BridgeError("must be a finite date") }
        return .string(text)
    }

    /// Takes any date and time of RFC 3339, at any offset.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Date {
        let expected = StringFormat.dateTime.expectation
        guard case .string(let text) = json else { throw BridgeError(expected: expected, found: json) }
        guard let date = InstantText.date(from: text) else { throw BridgeError("must be \(expected)") }
        return date
    }

    /// A string of the format `date-time`, or of the form for years that it does not reach.
    public var schema: WireSchema {
        .anyOf([.string(format: "date-time"), .string(pattern: InstantText.extendedPattern)])
    }
}

extension Date: OwnJSONForm {
    /// As RFC 3339 text.
    public static var defaultsBridge: DateBridge {
        DateBridge()
    }
}

/// URLs as text. A relative URL with a base is written as the absolute URL that it stands for.
public struct URLBridge: DefaultsBridge {
    /// The absolute URL. One that Foundation takes and RFC 3986 does not, as with a zone in an IPv6 address, is refused
    /// by the schema.
    public func encode(_ value: URL) throws(BridgeError) -> JSONValue {
        .string(value.absoluteString)
    }

    /// Takes what RFC 3986 calls a URI reference.
    public func decode(_ json: JSONValue) throws(BridgeError) -> URL {
        guard case .string(let text) = json else { throw BridgeError(expected: "a URL", found: json) }
        guard StringFormat.uriReference.accepts(text), let url = URL(string: text) else {
            throw BridgeError("must be a URL such as https://example.com/path")
        }
        return url
    }

    /// A string of the format `uri-reference`.
    public var schema: WireSchema {
        WireSchema(["type": "string", "format": "uri-reference", "minLength": 1])
    }
}

extension URL: OwnJSONForm {
    /// As text.
    public static var defaultsBridge: URLBridge {
        URLBridge()
    }
}

/// UUIDs as text.
public struct UUIDBridge: DefaultsBridge {
    /// Every UUID has this form.
    public func encode(_ value: UUID) throws(BridgeError) -> JSONValue {
        .string(value.uuidString)
    }

    /// Takes the usual form with its four hyphens, in either case.
    public func decode(_ json: JSONValue) throws(BridgeError) -> UUID {
        guard case .string(let text) = json else { throw BridgeError(expected: "a UUID", found: json) }
        guard let value = UUID(uuidString: text) else {
            throw BridgeError("must be a UUID such as 123e4567-e89b-12d3-a456-426614174000")
        }
        return value
    }

    /// A string of the format `uuid`.
    public var schema: WireSchema {
        .string(format: "uuid")
    }
}

extension UUID: OwnJSONForm {
    /// As text.
    public static var defaultsBridge: UUIDBridge {
        UUIDBridge()
    }
}

/// Decimals as the string of their digits: a JSON number would be rounded to a double on its way.
public struct DecimalBridge: DefaultsBridge {
    private static let pattern = "^-?[0-9]+([.][0-9]+)?$"

    /// Throws for the decimal that is not a number.
    public func encode(_ value: Decimal) throws(BridgeError) -> JSONValue {
        guard value.isFinite else { throw BridgeError("must be a decimal number, but is not a number") }
        return .string(value.description)
    }

    /// Takes digits with an optional fraction in a string, or a JSON integer; nothing that a decimal would round.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Decimal {
        switch json {
        case .integer(let integer):
            return Decimal(integer)
        case .string(let text):
            guard let value = DecimalText.decimal(from: text) else {
                throw BridgeError("must be decimal digits such as 3.14, no more than a Decimal holds")
            }
            return value
        default:
            throw BridgeError(expected: "decimal digits in a string", found: json)
        }
    }

    /// A string of digits or an integer.
    public var schema: WireSchema {
        WireSchema(["type": ["string", "integer"], "pattern": .string(Self.pattern)])
    }
}

extension Decimal: OwnJSONForm {
    /// As the string of its digits.
    public static var defaultsBridge: DecimalBridge {
        DecimalBridge()
    }
}

/// Decimals from their digits, all or nothing.
enum DecimalText {
    /// The decimal that these digits are, exactly; nil if they are none or more than a decimal holds, which
    /// `Decimal(string:)` would read in part or round.
    static func decimal(from text: String) -> Decimal? {
        guard let written = normalized(text), let value = Decimal(string: text), value.isFinite,
            normalized(value.description) == written
        else { return nil }
        return value
    }

    /// The sign and digits without zeros that mean nothing; nil for anything else than digits with a fraction.
    private static func normalized(_ text: String) -> String? {
        var digits = text.utf8[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        let parts = digits.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        for part in parts where part.isEmpty || !part.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) {
            return nil
        }
        guard let whole = parts.first?.drop(while: { $0 == UInt8(ascii: "0") }) else { return nil }
        var fraction = parts.count > 1 ? parts[1] : Substring().utf8
        while fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
        let isZero = whole.isEmpty && fraction.isEmpty
        let sign = isNegative && !isZero ? "-" : ""
        return sign + String(decoding: whole, as: UTF8.self) + "." + String(decoding: fraction, as: UTF8.self)
    }
}
