/// The fields that the daemon reads. All others are checked for form and passed over.
package enum FieldName: UInt8, CaseIterable, Sendable {
    case host, contentLength, transferEncoding, connection, expect
    case ifMatch, ifNoneMatch, idempotencyKey, lastEventID, settingsNote, forwardedFor
    case accept, acceptEncoding, contentType, contentEncoding, prefer
    case requestID, traceParent
    case settingsAtLeast, settingsFresh
    case origin, authorization, apiKey, accessControlRequestMethod, accessControlRequestHeaders

    /// The name as it is usually written.
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
        case .acceptEncoding: "Accept-Encoding"
        case .contentType: "Content-Type"
        case .contentEncoding: "Content-Encoding"
        case .prefer: "Prefer"
        case .requestID: "X-Request-Id"
        case .traceParent: "traceparent"
        case .settingsAtLeast: "Settings-At-Least"
        case .settingsFresh: "Settings-Fresh"
        case .origin: "Origin"
        case .authorization: "Authorization"
        case .apiKey: "X-API-Key"
        case .accessControlRequestMethod: "Access-Control-Request-Method"
        case .accessControlRequestHeaders: "Access-Control-Request-Headers"
        }
    }

    /// True if a request may have the field on several lines.
    ///
    /// The lines of `Connection`, `Transfer-Encoding`, `Accept-Encoding`, `Prefer`, `X-Forwarded-For` and the lists of tags are taken together, as RFC 9110 (5.3)
    /// says of fields that are lists. Of `Accept` and of the names of requests the first line counts. Any other field given twice is refused: a proxy
    /// may have read the other one.
    var mayRepeat: Bool {
        switch self {
        case .connection, .transferEncoding, .accept, .acceptEncoding, .ifMatch, .ifNoneMatch, .prefer, .forwardedFor,
            .requestID,
            .traceParent:
            true
        default: false
        }
    }

    /// The field that a token names, in either case; nil if it is not read.
    init?(_ bytes: Span<UInt8>, _ name: Range<Int>) {
        // The length leaves one to four candidates.
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
        case 8: candidate = .ifMatch
        case 9: candidate = .apiKey
        case 10: candidate = .connection
        case 11: candidate = .traceParent
        case 12: candidate = bytes[name.lowerBound] | 0x20 == UInt8(ascii: "x") ? .requestID : .contentType
        case 13:
            switch bytes[name.lowerBound] | 0x20 {
            case UInt8(ascii: "a"): candidate = .authorization
            case UInt8(ascii: "i"): candidate = .ifNoneMatch
            case UInt8(ascii: "l"): candidate = .lastEventID
            default: candidate = .settingsNote
            }
        case 14: candidate = bytes[name.lowerBound] | 0x20 == UInt8(ascii: "s") ? .settingsFresh : .contentLength
        case 15:
            switch bytes[name.lowerBound] | 0x20 {
            case UInt8(ascii: "a"): candidate = .acceptEncoding
            case UInt8(ascii: "x"): candidate = .forwardedFor
            default: candidate = .idempotencyKey
            }
        case 16: candidate = .contentEncoding
        case 17: candidate = bytes[name.lowerBound] | 0x20 == UInt8(ascii: "s") ? .settingsAtLeast : .transferEncoding
        case 29: candidate = .accessControlRequestMethod
        case 30: candidate = .accessControlRequestHeaders
        default: return nil
        }
        guard Self.isSame(bytes, name, candidate.text) else { return nil }
        self = candidate
    }

    /// True if a token is this name. Of the bytes that tokens consist of, only the two cases of a letter become the
    /// same when bit 5 is set and are letters or hyphens then.
    @inline(__always)
    static func isSame(_ bytes: Span<UInt8>, _ range: Range<Int>, _ name: StaticString) -> Bool {
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
