/// JSON as itself.
public struct JSONBridge: DefaultsBridge {
    /// Throws for what no JSON text can say: a number that is not finite, or more than 128 levels.
    public func encode(_ value: JSONValue) throws(BridgeError) -> JSONValue {
        guard value.isNested(atMost: JSONValue.maximumDepth) else {
            throw BridgeError("must nest at most \(JSONValue.maximumDepth) levels deep")
        }
        guard value.isFinite else { throw BridgeError("must hold finite numbers only") }
        return value
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
