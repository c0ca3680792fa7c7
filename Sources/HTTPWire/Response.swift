/// A response, which ``ResponseWriter`` serializes and ``ResponseReader`` parses.
package struct Response: Sendable {
    /// From 200 to 599.
    package var status: Int
    package var contentType: ContentType
    /// All fields except Content-Type, Content-Length, Transfer-Encoding, Connection and Date, which `ResponseWriter`
    /// adds.
    package var fields: FieldBlock
    /// The body. It is not sent if the request is HEAD, or if the status is 204 or 304.
    package var body: [UInt8]
    /// True if the server closes the connection after the response. A client must then send no further request on the
    /// connection.
    package var closes: Bool
    /// The number of the error code in the body (`ErrorCode.number` in SettingsWeb), from 1; 0 if the body has no error
    /// code. Metrics count responses by this number. It is not sent to the client.
    package var errorCodeNumber: UInt8 = 0
    /// An object whose release returns the memory of the body to the memory budget of the server. The connection
    /// retains the object until the body is sent.
    package var bodyOwner: (any AnyObject & Sendable)?

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

    /// True if this response is an unmodified copy of the other response. Compares the addresses of the buffers instead
    /// of their bytes, so equal responses with separate buffers are not recognized.
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
    /// True if both responses are serialized to the same bytes.
    package static func == (left: Response, right: Response) -> Bool {
        left.status == right.status && left.contentType == right.contentType && left.closes == right.closes
            && left.fields == right.fields && left.body == right.body
    }
}

/// The content type of a body. This is an enumeration, so that text from a client can never become a content type.
package enum ContentType: Hashable, Sendable {
    case json, problem, schema, text, eventStream, prometheus
    /// The files of a web page.
    case html, css, javaScript, svg
    /// The response has no `Content-Type`, because it has no body.
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

/// The reason phrases of the status line. They are for people only: clients ignore them.
enum ReasonPhrase {
    /// Returns the phrase from the RFC that registered the status; empty for a status that the server never sends.
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
