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

extension String: DefaultsSerializable {
    /// As a JSON string.
    public static var defaultsBridge: StringBridge {
        StringBridge()
    }
}
