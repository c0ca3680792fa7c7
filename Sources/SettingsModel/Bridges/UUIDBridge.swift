#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// UUIDs as text.
public struct UUIDBridge: DefaultsBridge {
    /// Every UUID has this form.
    public func encode(_ value: UUID) throws(BridgeError) -> JSONValue {
        .string(value.uuidString)
    }

    /// Takes the usual form with its four hyphens, in either case.
    public func decode(_ json: JSONValue) throws(BridgeError) -> UUID {
        guard case .string(let text) = json else { throw BridgeError(expected: "a UUID", found: json) }
        guard let value = UUID(uuidString: text) else {
            throw BridgeError("must be a UUID such as 123e4567-e89b-12d3-a456-426614174000")
        }
        return value
    }

    /// A string of the format `uuid`.
    public var schema: WireSchema {
        .string(format: "uuid")
    }
}

extension UUID: OwnJSONForm {
    /// As text.
    public static var defaultsBridge: UUIDBridge {
        UUIDBridge()
    }
}
