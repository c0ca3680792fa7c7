/// A string format of JSON Schema draft 2020-12 that a schema may demand. Validation takes linear time.
package enum StringFormat: String, CaseIterable, Sendable {
    case dateTime = "date-time"
    case date
    case time
    case duration
    case email
    case hostname
    case ipv4
    case ipv6
    case uri
    case uriReference = "uri-reference"
    case uuid
    case jsonPointer = "json-pointer"
    case regex

    /// True if the text has the format.
    package func accepts(_ text: String) -> Bool {
        var cursor = ByteCursor(text)
        let bytes = cursor.rest
        return switch self {
        case .dateTime: DateTimeSyntax(text) != nil
        case .date: CivilDate(reading: &cursor) != nil && cursor.isAtEnd
        case .time: ClockTime(reading: &cursor) != nil && cursor.isAtEnd
        case .duration: DurationSyntax.accepts(bytes)
        case .email: MailboxSyntax.accepts(bytes)
        case .hostname: HostNameSyntax.accepts(bytes)
        case .ipv4: IPv4Syntax.accepts(bytes)
        case .ipv6: IPv6Syntax.accepts(bytes)
        case .uri: URISyntax.accepts(bytes, orRelative: false)
        case .uriReference: URISyntax.accepts(bytes, orRelative: true)
        case .uuid: UUIDSyntax.accepts(bytes)
        case .jsonPointer: JSONPointer(text) != nil
        case .regex: (try? Pattern.checkSyntax(text)) != nil
        }
    }

    /// The end of the message "must be …".
    package var expectation: String {
        switch self {
        case .dateTime: "an RFC 3339 date and time such as 2026-11-20T10:00:00Z"
        case .date: "an RFC 3339 date such as 2026-11-20"
        case .time: "an RFC 3339 time with an offset such as 10:00:00Z"
        case .duration: "an ISO 8601 duration such as P1DT12H"
        case .email: "an e-mail address such as name@example.com"
        case .hostname: "a host name such as www.example.com"
        case .ipv4: "an IPv4 address such as 192.0.2.1"
        case .ipv6: "an IPv6 address such as 2001:db8::1"
        case .uri: "an absolute URI such as https://example.com/path"
        case .uriReference: "a URI or a relative reference such as ../path?query"
        case .uuid: "a UUID such as 123e4567-e89b-12d3-a456-426614174000"
        case .jsonPointer: "a JSON pointer such as /server/port"
        case .regex: "an ECMA-262 regular expression such as ^[a-z]+$"
        }
    }
}

/// Validates ISO 8601 durations in the grammar of RFC 3339 appendix A.
///
/// The grammar is narrower than ISO 8601: numbers are whole, and weeks cannot be combined with other units. Between the
/// first and the last unit of the date, no unit may be missing, so `P1Y2D` is not valid; the same rule applies to the
/// time after `T`. Between the date and the time, units may be missing: `P1YT1S` is valid. Lower-case letters are
/// valid, because literals of ABNF are case-insensitive (RFC 5234 section 2.3).
enum DurationSyntax {
    static func accepts(_ bytes: ArraySlice<UInt8>) -> Bool {
        var cursor = ByteCursor(bytes)
        guard cursor.consume(ignoringCase: "p") else { return false }
        if isWeeks(cursor) { return true }
        if cursor.next.map(ASCII.isDigit) == true, !consumeUnits("ymd", from: &cursor) { return false }
        if cursor.consume(ignoringCase: "t") {
            return consumeUnits("hms", from: &cursor) && cursor.isAtEnd
        }
        return cursor.isAtEnd && bytes.count > 1
    }

    private static func isWeeks(_ start: ByteCursor) -> Bool {
        var cursor = start
        return !cursor.consume(while: .digits).isEmpty && cursor.consume(ignoringCase: "w") && cursor.isAtEnd
    }

    /// Reads one or more numbers with their units. The units must be adjacent in `units` and in the same order.
    private static func consumeUnits(_ units: String, from cursor: inout ByteCursor) -> Bool {
        var remaining = units.unicodeScalars[...]
        var isFirst = true
        while !cursor.consume(while: .digits).isEmpty {
            guard let index = remaining.firstIndex(where: { cursor.consume(ignoringCase: $0) }),
                isFirst || index == remaining.startIndex
            else { return false }
            remaining = remaining[index...].dropFirst()
            isFirst = false
        }
        return !isFirst
    }
}

/// Validates UUIDs of any version and variant in the hexadecimal form of RFC 4122.
enum UUIDSyntax {
    static func accepts(_ bytes: ArraySlice<UInt8>) -> Bool {
        var cursor = ByteCursor(bytes)
        for (position, length) in [8, 4, 4, 4, 12].enumerated() {
            if position > 0, !cursor.consume("-") { return false }
            guard cursor.consume(while: .hexDigits).count == length else { return false }
        }
        return cursor.isAtEnd
    }
}
