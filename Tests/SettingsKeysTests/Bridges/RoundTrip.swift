import SettingsKeys
import SettingsModel
import Testing

/// Converts values to JSON text and back, and checks the JSON against the schema of the bridge.
enum RoundTrip {
    /// Checks values alone and as optionals, arrays and dictionary values.
    static func checkAloneAndNested<Value: DefaultsSerializable & Equatable>(
        _ values: [Value], _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try check(values, Value.defaultsBridge, comment, sourceLocation)
        try check(values.map(Optional.some) + [nil], Value?.defaultsBridge, comment, sourceLocation)
        try check([values, []], [Value].defaultsBridge, comment, sourceLocation)
        try check([values.map(Optional.some) + [nil]], [Value?].defaultsBridge, comment, sourceLocation)
        let named = Dictionary(uniqueKeysWithValues: values.enumerated().map { ("name \($0)", $1) })
        try check([named, [:]], [String: Value].defaultsBridge, comment, sourceLocation)
        try check([[named], []], [[String: Value]].defaultsBridge, comment, sourceLocation)
    }

    /// Checks values through one bridge.
    static func check<Bridge: DefaultsBridge>(
        _ values: [Bridge.Value], _ bridge: Bridge, _ comment: Comment? = nil,
        _ sourceLocation: SourceLocation = #_sourceLocation
    ) throws where Bridge.Value: Equatable {
        let schema = try KeySchema(bridge.schema.json)
        for value in values {
            let json = try bridge.encode(value)
            #expect(schema.violations(of: json) == [], comment, sourceLocation: sourceLocation)
            let read = try JSONValue(parsing: json.bytes())
            #expect(read == json, comment, sourceLocation: sourceLocation)
            #expect(try bridge.decode(read) == value, comment, sourceLocation: sourceLocation)
        }
    }
}
