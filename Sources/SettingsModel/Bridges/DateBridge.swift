#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Dates as RFC 3339 text in UTC, with the shortest fraction that reads back to the same instant.
///
/// A date outside the years 0 to 9999 is written relative to the reference date, as `2001-01-01T00:00:00Z+2.5e+11s`.
public struct DateBridge: DefaultsBridge {
    /// Throws for a date that is infinitely far away.
    public func encode(_ value: Date) throws(BridgeError) -> JSONValue {
        guard let text = InstantText.text(for: value) else { throw BridgeError("must be a finite date") }
        return .string(text)
    }

    /// Takes any date and time of RFC 3339, at any offset.
    public func decode(_ json: JSONValue) throws(BridgeError) -> Date {
        let expected = StringFormat.dateTime.expectation
        guard case .string(let text) = json else { throw BridgeError(expected: expected, found: json) }
        guard let date = InstantText.date(from: text) else { throw BridgeError("must be \(expected)") }
        return date
    }

    /// A string of the format `date-time`, or of the form for years that it does not reach.
    public var schema: WireSchema {
        .anyOf([.string(format: "date-time"), .string(pattern: InstantText.extendedPattern)])
    }
}

extension Date: OwnJSONForm {
    /// As RFC 3339 text.
    public static var defaultsBridge: DateBridge {
        DateBridge()
    }
}
