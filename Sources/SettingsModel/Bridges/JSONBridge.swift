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

extension JSONValue: OwnJSONForm {
    /// As itself.
    public static var defaultsBridge: JSONBridge {
        JSONBridge()
    }
}
