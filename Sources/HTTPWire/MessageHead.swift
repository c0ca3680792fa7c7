/// The name of ``MessageHead`` in code that handles requests only.
package typealias RequestHead = MessageHead

/// The parsed head of an HTTP message: the start line and the fields.
///
/// The head consists of flags and of byte ranges in the buffer that was parsed, so it can be interpreted only together
/// with that buffer. It contains no references, so copying it needs no reference counting.
package struct MessageHead: Sendable, BitwiseCopyable {
    /// How the end of the body is determined.
    package enum Framing: Equatable, Sendable, BitwiseCopyable {
        /// There is no body.
        case none
        /// The field `Content-Length` has the number of bytes.
        case length(Int)
        /// The body is sent in chunks (`Transfer-Encoding: chunked`).
        case chunked
        /// The body ends when the server closes the connection. Occurs only in responses.
        case untilClose
    }

    package internal(set) var method: Method = .other
    /// The status of a response; 0 in the head of a request.
    package internal(set) var status = 0
    /// True for HTTP/1.1 and later 1.x, false for HTTP/1.0.
    package internal(set) var isHTTP11 = true
    /// True if the peer permits another request on the connection after this message.
    package internal(set) var keepsAlive = true
    /// True if the peer waits for `100 Continue` before it sends the body.
    package internal(set) var expectsContinue = false
    package internal(set) var framing: Framing = .none
    /// The length of the head in bytes, including the empty line at its end.
    package internal(set) var length = 0

    var methodRange = ByteRange.none
    var targetRange = ByteRange.none
    var pathRange = ByteRange.none
    var queryRange = ByteRange.none
    var hostRange = ByteRange.none
    var portRange = ByteRange.none
    /// One bit for each field that the message has, at the position of the raw value of its ``FieldName``.
    private var presentFields: UInt32 = 0
    /// One bit for each field that occurs on more than one line.
    private var repeatedFields: UInt32 = 0
    /// The values of fields, one element for each case of ``FieldName``. An element is valid only if `presentFields`
    /// contains the field.
    private var values = InlineArray<29, ByteRange>(repeating: .none)

    /// The name of the method as it was sent. For the method `.other`, this range is the only source of the name.
    package var methodName: Range<Int> { methodRange.range ?? 0..<0 }
    /// The request target as it was sent, including the query.
    package var target: Range<Int> { targetRange.range ?? 0..<0 }
    /// The percent-encoded path, beginning with `/`; `*` for the request `OPTIONS *`.
    package var path: Range<Int> { pathRange.range ?? 0..<0 }
    /// The query: the part of the target after the first `?`; nil if the target has no `?`.
    package var query: Range<Int>? { queryRange.range }
    /// The host of the target, or of the field `Host` if the target has no host. It excludes the port, and includes the
    /// brackets of an IPv6 address. The parser has checked its syntax. Empty if the field `Host` is empty; nil if a
    /// request of HTTP/1.0 has neither a host in the target nor the field.
    package var host: Range<Int>? { hostRange.range }
    /// The digits of the port, 0 to 65535. Nil if no colon follows the host; empty if no digits follow the colon.
    package var port: Range<Int>? { portRange.range }
    /// True if the request is `OPTIONS *`.
    package internal(set) var hasAsteriskForm = false

    /// Returns the value of a field without surrounding spaces and tabs; nil if the message does not have the field.
    /// For a repeated field, this is the value of its first line.
    @inline(__always)
    package func field(_ name: FieldName) -> Range<Int>? {
        has(name) ? value(of: name) : nil
    }

    // A separate function, because `span` copies the whole head. The lookup of an absent field needs no copy.
    private func value(of name: FieldName) -> Range<Int>? {
        values.span[Int(name.rawValue)].range
    }

    @inline(__always)
    package func has(_ name: FieldName) -> Bool {
        presentFields & 1 << UInt32(name.rawValue) != 0
    }

    /// True if the field occurs on more than one line. ``values(of:in:)`` then returns the values of all lines.
    package func isRepeated(_ name: FieldName) -> Bool {
        repeatedFields & 1 << UInt32(name.rawValue) != 0
    }

    mutating func markRepeated(_ name: FieldName) {
        repeatedFields |= 1 << UInt32(name.rawValue)
    }

    mutating func setField(_ name: FieldName, _ value: Range<Int>) {
        presentFields |= 1 << UInt32(name.rawValue)
        values[Int(name.rawValue)] = ByteRange(value)
    }

    /// Resets all properties except the values of fields. Assigning a new head would be slower, because it is large.
    mutating func reset() {
        method = .other
        status = 0
        isHTTP11 = true
        keepsAlive = true
        expectsContinue = false
        framing = .none
        length = 0
        hasAsteriskForm = false
        methodRange = .none
        targetRange = .none
        pathRange = .none
        queryRange = .none
        hostRange = .none
        portRange = .none
        presentFields = 0
        repeatedFields = 0
    }
}

/// The method of a request. Methods that the daemon does not implement are all `other`.
package enum Method: Hashable, Sendable, BitwiseCopyable {
    case get, head, put, post, delete, patch, options
    /// Any other valid method name.
    case other

    /// The maximum length of a method name. The longest registered name has 17 bytes (`UPDATEREDIRECTREF`).
    static let maximumLength = 32

    /// The name of the method; empty for `other`.
    package var text: StaticString {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .put: "PUT"
        case .post: "POST"
        case .delete: "DELETE"
        case .patch: "PATCH"
        case .options: "OPTIONS"
        case .other: ""
        }
    }

    init(_ bytes: Span<UInt8>, _ name: Range<Int>) {
        switch name.count {
        case 3: self = bytes.holds("GET", in: name) ? .get : bytes.holds("PUT", in: name) ? .put : .other
        case 4: self = bytes.holds("HEAD", in: name) ? .head : bytes.holds("POST", in: name) ? .post : .other
        case 5: self = bytes.holds("PATCH", in: name) ? .patch : .other
        case 6: self = bytes.holds("DELETE", in: name) ? .delete : .other
        case 7: self = bytes.holds("OPTIONS", in: name) ? .options : .other
        default: self = .other
        }
    }
}
