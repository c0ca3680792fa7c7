/// Truth values as JSON booleans.
public struct BoolBridge: DefaultsBridge {
    /// Both values have this form.
    public func encode(_ value: Bool) throws(BridgeError) -> JSONValue {
        .bool(value)
    }

    /// Takes a boolean; a number is none.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Bool {
        guard case .bool(let value) = json else { throw BridgeError(expected: "true or false", found: json) }
        return value
    }

    /// `true` or `false`.
    public var schema: WireSchema {
        .boolean
    }
}

extension Bool: DefaultsSerializable {
    /// As a JSON boolean.
    public static var defaultsBridge: BoolBridge {
        BoolBridge()
    }
}
