/// Strings as JSON strings.
public struct StringBridge: DefaultsBridge {
    /// Every string has this form.
    public func encode(_ value: String) throws(BridgeError) -> JSONValue {
        .string(value)
    }

    /// Takes a string.
    public func decode(_ json: JSONValue) throws(BridgeError) -> String {
        guard case .string(let text) = json else { throw BridgeError(expected: "a string", found: json) }
        return text
    }

    /// Any string.
    public var schema: WireSchema {
        .string
    }
}

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

/// JSON as itself.
public struct JSONBridge: DefaultsBridge {
    /// Every value is its own form.
    public func encode(_ value: JSONValue) throws(BridgeError) -> JSONValue {
        value
    }

    /// Takes everything.
    public func decode(_ json: JSONValue) throws(BridgeError) -> JSONValue {
        json
    }

    /// Any JSON.
    public var schema: WireSchema {
        .any
    }

    /// `null` is a JSON value.
    public var readsNull: Bool {
        true
    }
}

extension String: DefaultsSerializable {
    /// As a JSON string.
    public static var defaultsBridge: StringBridge {
        StringBridge()
    }
}

extension Bool: DefaultsSerializable {
    /// As a JSON boolean.
    public static var defaultsBridge: BoolBridge {
        BoolBridge()
    }
}

extension JSONValue: OwnJSONForm {
    /// As itself.
    public static var defaultsBridge: JSONBridge {
        JSONBridge()
    }
}
