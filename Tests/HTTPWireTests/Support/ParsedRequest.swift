import HTTPWire

/// All that a parser says of a complete request, copied out of the bytes.
struct ParsedRequest: Equatable, Sendable {
    var method: HTTPWire.Method
    var methodName: String
    var target: String
    var path: String
    var query: String?
    var isServerWide: Bool
    var host: String?
    var port: String?
    var isHTTP11: Bool
    var keepsAlive: Bool
    var expectsContinue: Bool
    var framing: RequestHead.Framing
    var fields: [FieldName: String]
    var body: [UInt8]
    var consumed: Int

    init?(_ parser: MessageParser, _ bytes: Span<UInt8>) {
        guard let head = parser.head, parser.isComplete else { return nil }
        method = head.method
        methodName = bytes.text(in: head.methodName)
        target = bytes.text(in: head.target)
        path = bytes.text(in: head.path)
        query = head.query.map { bytes.text(in: $0) }
        isServerWide = head.isServerWide
        host = head.host.map { bytes.text(in: $0) }
        port = head.port.map { bytes.text(in: $0) }
        isHTTP11 = head.isHTTP11
        keepsAlive = head.keepsAlive
        expectsContinue = head.expectsContinue
        framing = head.framing
        fields = [:]
        for name in FieldName.allCases {
            if let value = head.field(name) { fields[name] = bytes.text(in: value) }
        }
        body = parser.body.withBytes(of: bytes) { span in
            var copy: [UInt8] = []
            copy.append(copying: span)
            return copy
        }
        consumed = parser.consumed
    }

    /// A request that says the same.
    var serialized: [UInt8] {
        var bytes: [UInt8] = Array("\(methodName) \(target) HTTP/1.\(isHTTP11 ? 1 : 0)\r\n".utf8)
        for name in FieldName.allCases {
            if let value = fields[name] { bytes += Array("\(name.text): \(value)\r\n".utf8) }
        }
        if keepsAlive != isHTTP11 { bytes += Array("connection: \(keepsAlive ? "keep-alive" : "close")\r\n".utf8) }
        bytes += Array("\r\n".utf8)
        switch framing {
        case .none: break
        case .length, .toEnd: bytes += body
        case .chunked:
            if !body.isEmpty {
                bytes += Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n".utf8)
            }
            bytes += Array("0\r\n\r\n".utf8)
        }
        return bytes
    }
}
