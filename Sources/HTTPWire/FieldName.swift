/// The fields that the parser stores in the head. The parser only checks the syntax of all other fields.
package enum FieldName: UInt8, CaseIterable, Sendable {
    case host, contentLength, transferEncoding, connection, expect
    // `Settings-Note` is the reason for a write. The daemon stores it with the commit.
    case ifMatch, ifNoneMatch, idempotencyKey, lastEventID, settingsNote, forwardedFor
    case accept, contentType, contentEncoding, prefer
    case requestID, traceParent, referer, userAgent
    // The deadlines of a write: to confirm the commit, to revert it, and to carry out the write later.
    case settingsConfirm, settingsUntil, settingsEffective
    // With these fields, a request waits until the daemon has a given commit, or all acknowledged commits.
    case settingsAtLeast, settingsFresh
    case origin, authorization, apiKey, accessControlRequestMethod, accessControlRequestHeaders

    /// The name in its usual spelling.
    package var text: StaticString {
        switch self {
        case .host: "Host"
        case .contentLength: "Content-Length"
        case .transferEncoding: "Transfer-Encoding"
        case .connection: "Connection"
        case .expect: "Expect"
        case .ifMatch: "If-Match"
        case .ifNoneMatch: "If-None-Match"
        case .idempotencyKey: "Idempotency-Key"
        case .lastEventID: "Last-Event-ID"
        case .settingsNote: "Settings-Note"
        case .forwardedFor: "X-Forwarded-For"
        case .accept: "Accept"
        case .contentType: "Content-Type"
        case .contentEncoding: "Content-Encoding"
        case .prefer: "Prefer"
        case .requestID: "X-Request-Id"
        case .traceParent: "traceparent"
        case .referer: "Referer"
        case .userAgent: "User-Agent"
        case .settingsConfirm: "Settings-Confirm"
        case .settingsUntil: "Settings-Until"
        case .settingsEffective: "Settings-Effective"
        case .settingsAtLeast: "Settings-At-Least"
        case .settingsFresh: "Settings-Fresh"
        case .origin: "Origin"
        case .authorization: "Authorization"
        case .apiKey: "X-API-Key"
        case .accessControlRequestMethod: "Access-Control-Request-Method"
        case .accessControlRequestHeaders: "Access-Control-Request-Headers"
        }
    }

    /// True if a request may have the field on more than one line.
    ///
    /// Most of these fields are lists, whose lines are combined as RFC 9110 (5.3) describes. For `X-Request-Id`,
    /// `traceparent`, `Referer` and `User-Agent`, the daemon uses the first line. For `Accept`, the web page uses the
    /// first line, and the API combines the lines. The parser refuses a request with any other repeated field of this
    /// enumeration, because a proxy may have used a different line than the daemon would use.
    var mayRepeat: Bool {
        switch self {
        case .connection, .transferEncoding, .accept, .ifMatch, .ifNoneMatch, .prefer, .forwardedFor,
            .requestID, .traceParent, .referer, .userAgent:
            true
        default: false
        }
    }

    /// Finds the field with a name, ignoring case. Returns nil if the enumeration does not contain the field.
    init?(_ bytes: Span<UInt8>, _ name: Range<Int>) {
        // At most four names have the same length.
        let candidate: FieldName
        switch name.count {
        case 4: candidate = .host
        case 6:
            switch bytes[name.lowerBound] | 0x20 {
            case UInt8(ascii: "a"): candidate = .accept
            case UInt8(ascii: "e"): candidate = .expect
            case UInt8(ascii: "p"): candidate = .prefer
            default: candidate = .origin
            }
        case 7: candidate = .referer
        case 8: candidate = .ifMatch
        case 9: candidate = .apiKey
        case 10: candidate = bytes[name.lowerBound] | 0x20 == UInt8(ascii: "u") ? .userAgent : .connection
        case 11: candidate = .traceParent
        case 12: candidate = bytes[name.lowerBound] | 0x20 == UInt8(ascii: "x") ? .requestID : .contentType
        case 13:
            switch bytes[name.lowerBound] | 0x20 {
            case UInt8(ascii: "a"): candidate = .authorization
            case UInt8(ascii: "i"): candidate = .ifNoneMatch
            case UInt8(ascii: "l"): candidate = .lastEventID
            default: candidate = .settingsNote
            }
        case 14:
            // `Settings-Until` ends with l. `Settings-Fresh` and `Content-Length` end with h, and begin with different
            // letters.
            switch bytes[name.upperBound - 1] | 0x20 {
            case UInt8(ascii: "l"): candidate = .settingsUntil
            case UInt8(ascii: "h"):
                candidate = bytes[name.lowerBound] | 0x20 == UInt8(ascii: "s") ? .settingsFresh : .contentLength
            default: return nil
            }
        case 15:
            candidate = bytes[name.lowerBound] | 0x20 == UInt8(ascii: "x") ? .forwardedFor : .idempotencyKey
        case 16: candidate = bytes[name.lowerBound] | 0x20 == UInt8(ascii: "s") ? .settingsConfirm : .contentEncoding
        case 17: candidate = bytes[name.lowerBound] | 0x20 == UInt8(ascii: "s") ? .settingsAtLeast : .transferEncoding
        case 18: candidate = .settingsEffective
        case 29: candidate = .accessControlRequestMethod
        case 30: candidate = .accessControlRequestHeaders
        default: return nil
        }
        guard Self.isEqual(bytes, name, candidate.text) else { return nil }
        self = candidate
    }

    /// True if the bytes in the range equal the name, ignoring case. The range must have the length of the name.
    ///
    /// The comparison sets bit 5 of each byte, which makes the two cases of a letter equal. No other byte of a token
    /// becomes equal to a letter or a hyphen, and the names contain nothing else.
    @inline(__always)
    static func isEqual(_ bytes: Span<UInt8>, _ range: Range<Int>, _ name: StaticString) -> Bool {
        name.withUTF8Buffer { wanted in
            var index = 0
            while index < wanted.count {
                if bytes[range.lowerBound &+ index] | 0x20 != wanted[index] | 0x20 { return false }
                index &+= 1
            }
            return true
        }
    }
}
