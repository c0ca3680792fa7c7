/// A response: to be written by `ResponseWriter`, or read by `ResponseReader`.
package struct Response: Sendable {
    /// From 200 to 599.
    package var status: Int
    package var contentType: ContentType
    /// All fields but those that `ResponseWriter` sends by itself: Content-Type, Content-Length, Transfer-Encoding,
    /// Connection and Date.
    package var fields: FieldBlock
    /// The body; not sent in answer to HEAD, nor with 204 and 304.
    package var body: [UInt8]
    /// True if the connection is closed after it.
    package var closes: Bool
    /// The number of the error that it tells of, for counting; 0 if it tells of none. Not sent.
    package var refusal: UInt8 = 0
    /// Kept for as long as a connection has not sent the body.
    package var owner: (any AnyObject & Sendable)?

    package init(
        status: Int, contentType: ContentType = .none, fields: FieldBlock = FieldBlock(), body: [UInt8] = [],
        closes: Bool = false
    ) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
        self.closes = closes
    }

    /// True if it was copied from another and not changed since; found without a look at the bytes.
    package func isCopy(of other: Response) -> Bool {
        status == other.status && contentType == other.contentType && closes == other.closes
            && body.sharesMemory(with: other.body) && fields.bytes.sharesMemory(with: other.fields.bytes)
    }
}

extension [UInt8] {
    fileprivate func sharesMemory(with other: [UInt8]) -> Bool {
        withUnsafeBufferPointer { mine in
            other.withUnsafeBufferPointer { $0.baseAddress == mine.baseAddress && $0.count == mine.count }
        }
    }
}

extension Response: Equatable {
    /// True if both are sent as the same bytes.
    package static func == (left: Response, right: Response) -> Bool {
        left.status == right.status && left.contentType == right.contentType && left.closes == right.closes
            && left.fields == right.fields && left.body == right.body
    }
}

/// The content type of a body. Closed, so that no text from outside ever becomes one.
package enum ContentType: Hashable, Sendable {
    case json, problem, schema, text, eventStream, prometheus
    /// Files of a page.
    case html, css, javaScript, svg
    /// There is nothing to say: the response has no body.
    case none

    /// The value of `Content-Type`; empty for `none`.
    package var text: StaticString {
        switch self {
        case .json: "application/json"
        case .problem: "application/problem+json"
        case .schema: "application/schema+json"
        case .text: "text/plain; charset=utf-8"
        case .eventStream: "text/event-stream"
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .html: "text/html; charset=utf-8"
        case .css: "text/css; charset=utf-8"
        case .javaScript: "text/javascript; charset=utf-8"
        case .svg: "image/svg+xml"
        case .none: ""
        }
    }
}

/// The words after a status. They are for people who look at the wire; no client may go by them.
enum ReasonPhrase {
    /// The phrase of RFC 9110 or of the RFC that registered the status; empty for one that is not sent here.
    static func of(_ status: Int) -> StaticString {
        switch status {
        case 100: "Continue"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 302: "Found"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        case 507: "Insufficient Storage"
        default: ""
        }
    }
}
