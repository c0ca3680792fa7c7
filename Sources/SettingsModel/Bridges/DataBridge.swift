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
