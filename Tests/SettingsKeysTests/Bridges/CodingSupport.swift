@testable import SettingsKeys

/// The JSON of a value.
func encoded<Value: Encodable>(_ value: Value, allowsNonFinite: Bool = false) throws(BridgeError) -> JSONValue {
    try ValueEncoder.encode(value, allowsNonFinite: allowsNonFinite)
}

/// The value that JSON text decodes to.
func decoded<Value: Decodable>(
    _ type: Value.Type, _ text: String, allowsNonFinite: Bool = false
) throws -> Value {
    try ValueDecoder.decode(type, from: JSONValue(parsing: text), allowsNonFinite: allowsNonFinite)
}

/// The value after it was encoded, written as text, parsed and decoded.
func afterRoundTrip<Value: Codable>(_ value: Value, allowsNonFinite: Bool = false) throws -> Value {
    try decoded(Value.self, encoded(value, allowsNonFinite: allowsNonFinite).text(), allowsNonFinite: allowsNonFinite)
}

/// The description of the decoding error, such as `at /path: reason`, or the decoded value if there was no error.
func refusal<Value: Decodable>(_ type: Value.Type, _ text: String, allowsNonFinite: Bool = false) throws -> String {
    let json = try JSONValue(parsing: text)
    do {
        return "decoded: \(try ValueDecoder.decode(type, from: json, allowsNonFinite: allowsNonFinite))"
    } catch {
        return error.description
    }
}

/// The description of the encoding error, such as `at /path: reason`, or the JSON if there was no error.
func refusal<Value: Encodable>(of value: Value, allowsNonFinite: Bool = false) -> String {
    do {
        return "encoded: \(try encoded(value, allowsNonFinite: allowsNonFinite))"
    } catch {
        return error.description
    }
}

/// A value that a closure encodes.
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
