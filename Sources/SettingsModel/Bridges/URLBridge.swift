#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

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
