@testable import SettingsKeys

/// The JSON to which the coder of this module encodes a value. With `allowsNonFinite`, infinity and NaN become strings.
func encoded<Value: Encodable>(_ value: Value, allowsNonFinite: Bool = false) throws(BridgeError) -> JSONValue {
    try ValueEncoder.encode(value, allowsNonFinite: allowsNonFinite)
}

/// The value to which the coder of this module decodes JSON text.
func decoded<Value: Decodable>(
    _ type: Value.Type, _ text: String, allowsNonFinite: Bool = false
) throws -> Value {
    try ValueDecoder.decode(type, from: JSONValue(parsing: text), allowsNonFinite: allowsNonFinite)
}

/// The value after it was encoded, written as text, parsed and decoded.
func afterRoundTrip<Value: Codable>(_ value: Value, allowsNonFinite: Bool = false) throws -> Value {
    try decoded(Value.self, encoded(value, allowsNonFinite: allowsNonFinite).text(), allowsNonFinite: allowsNonFinite)
}

/// The description of the decoding error, such as `at /path: reason`. Without an error, `decoded: ` and the value.
func decodingOutcome<Value: Decodable>(_ type: Value.Type, _ text: String, allowsNonFinite: Bool = false) throws
    -> String
{
    let json = try JSONValue(parsing: text)
    do {
        return "decoded: \(try ValueDecoder.decode(type, from: json, allowsNonFinite: allowsNonFinite))"
    } catch {
        return error.description
    }
}

/// The description of the encoding error, such as `at /path: reason`. Without an error, `encoded: ` and the JSON.
func encodingOutcome<Value: Encodable>(of value: Value, allowsNonFinite: Bool = false) -> String {
    do {
        return "encoded: \(try encoded(value, allowsNonFinite: allowsNonFinite))"
    } catch {
        return error.description
    }
}

/// A value whose `encode(to:)` calls a closure, so that a test can make any sequence of encoding calls.
struct Script: Encodable {
    let run: (any Encoder) throws -> Void

    func encode(to encoder: any Encoder) throws {
        try run(encoder)
    }
}

/// A coding key of any name.
struct AnyKey: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { Int(stringValue) }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init(intValue: Int) {
        stringValue = String(intValue)
    }

    init(stringLiteral value: String) {
        stringValue = value
    }
}
