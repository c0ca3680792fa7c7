#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Decimals as the string of their digits: a JSON number would be rounded to a double on its way.
public struct DecimalBridge: DefaultsBridge {
    private static let pattern = "^-?[0-9]+([.][0-9]+)?$"

    /// Throws for the decimal that is not a number.
    public func encode(_ value: Decimal) throws(BridgeError) -> JSONValue {
        guard value.isFinite else { throw BridgeError("must be a decimal number, but is not a number") }
        return .string(value.description)
    }

    /// Takes digits with an optional fraction in a string, or a JSON integer; nothing that a decimal would round.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Decimal {
        switch json {
        case .integer(let integer):
            return Decimal(integer)
        case .string(let text):
            guard let value = DecimalText.decimal(from: text) else {
                throw BridgeError("must be decimal digits such as 3.14, no more than a Decimal holds")
            }
            return value
        default:
            throw BridgeError(expected: "decimal digits in a string", found: json)
        }
    }

    /// A string of digits or an integer.
    public var schema: WireSchema {
        WireSchema(["type": ["string", "integer"], "pattern": .string(Self.pattern)])
    }
}

extension Decimal: OwnJSONForm {
    /// As the string of its digits.
    public static var defaultsBridge: DecimalBridge {
        DecimalBridge()
    }
}
