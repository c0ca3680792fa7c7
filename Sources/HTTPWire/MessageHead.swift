/// The head of a request, as the daemon reads it.
package typealias RequestHead = MessageHead

/// The head of a message: the ranges of its parts in the bytes that were parsed.
///
/// Plain numbers, no references: copying it copies memory. It is useful only together with its bytes.
package struct MessageHead: Sendable, BitwiseCopyable {
    /// How the length of the body is known.
    package enum Framing: Equatable, Sendable, BitwiseCopyable {
        /// There is no body.
        case none
        case length(Int)
        case chunked
        /// The body of a response ends with the connection.
        case toEnd
    }

    package internal(set) var method: Method = .other
    /// The status of a response; 0 in the head of a request.
    package internal(set) var status = 0
    /// True for HTTP/1.1 and later 1.x, false for HTTP/1.0.
    package internal(set) var isHTTP11 = true
    /// True if the peer lets the connection stay open for another request.
    package internal(set) var keepsAlive = true
    /// True if the peer waits for `100 Continue` before it sends the body.
    package internal(set) var expectsContinue = false
    package internal(set) var framing: Framing = .none
    /// The bytes up to the body.
    package internal(set) var length = 0

    var methodRange = ByteRange.none
    var targetRange = ByteRange.none
    var pathRange = ByteRange.none
    var queryRange = ByteRange.none
    var hostRange = ByteRange.none
    var portRange = ByteRange.none
    /// A bit for each field that is there: the answer to most questions, without a look at the values.
    private var present: UInt32 = 0
    /// A bit for each field that stands on several lines.
    private var repeated: UInt32 = 0
    /// The values of the fields that are there; others are left over from earlier heads.
    private var values = InlineArray<25, ByteRange>(repeating: .none)

    /// The method as it was sent: the only way to name one that is `.other`.
    package var methodName: Range<Int> { methodRange.range ?? 0..<0 }
    /// The target as it was sent, query included.
    package var target: Range<Int> { targetRange.range ?? 0..<0 }
    /// The path, percent-encoded, from its `/`; `*` for a request about the server as a whole.
    package var path: Range<Int> { pathRange.range ?? 0..<0 }
    /// What follows the first `?`; nil if there is none.
    package var query: Range<Int>? { queryRange.range }
    /// The host that is asked, without its port, with the brackets if it is an IPv6 address. From the target if that
    /// names one, else from the field `Host`. Its form is checked. Empty if the field is; nil if there is none, which
    /// only HTTP/1.0 may do.
    package var host: Range<Int>? { hostRange.range }
    /// The digits of the port that follows the host, 0 to 65535; nil or empty if there are none.
    package var port: Range<Int>? { portRange.range }
    /// True if the request is `OPTIONS *`.
    package internal(set) var isServerWide = false

    /// The value of a field without the blanks around it; that of the first line if the field may repeat.
    @inline(__always)
    package func field(_ name: FieldName) -> Range<Int>? {
        has(name) ? value(of: name) : nil
    }

    // A function of its own: `span` copies the whole head, which a field that is not there must not cost.
    private func value(of name: FieldName) -> Range<Int>? {
        values.span[Int(name.rawValue)].range
    }

    /// True if the field is there.
    @inline(__always)
    package func has(_ name: FieldName) -> Bool {
        present & 1 << UInt32(name.rawValue) != 0
    }

    /// True if the field stands on several lines: see `values(of:in:)`.
    package func isRepeated(_ name: FieldName) -> Bool {
        repeated & 1 << UInt32(name.rawValue) != 0
    }

    mutating func noteRepeated(_ name: FieldName) {
        repeated |= 1 << UInt32(name.rawValue)
    }

    mutating func setField(_ name: FieldName, _ value: Range<Int>) {
        present |= 1 << UInt32(name.rawValue)
        values[Int(name.rawValue)] = ByteRange(value)
    }

    /// Makes it the head of no request yet, in place: moving so much memory about would cost as much as parsing.
    mutating func reset() {
        method = .other
        status = 0
        isHTTP11 = true
        keepsAlive = true
        expectsContinue = false
        framing = .none
        length = 0
        isServerWide = false
        methodRange = .none
        targetRange = .none
        pathRange = .none
        queryRange = .none
        hostRange = .none
        portRange = .none
        present = 0
        repeated = 0
    }
}

/// A method, as far as the daemon tells methods apart.
package enum Method: Hashable, Sendable, BitwiseCopyable {
    case get, head, put, post, delete, patch, options
    /// Any other token that is a method.
    case other

    /// No registered method is half as long; a longer one is something else than HTTP.
    static let maximumLength = 32

    /// The name of one that is not `other`.
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
