/// An answer, before it is known how the connection wants it written.
package struct Response: Hashable, Sendable {
    /// From 200 to 599.
    package var status: Int
    package var contentType: ContentType
    /// All fields but those that `ResponseWriter` sends by itself: Content-Type, Content-Length, Transfer-Encoding,
    /// Connection and Date.
    package var fields: FieldBlock
    /// What is sent, or for HEAD would be. Not sent with 204 and 304, which have none.
    package var body: [UInt8]
    /// Whether the connection is to be closed after it, whatever the peer wanted.
    package var closes: Bool

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

    /// Whether it was copied from another and not changed since; found without a look at the bytes.
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
