/// A request as tables write it: `PUT app/keys/volume 0.5`, and fields after it.
///
/// A target without a leading slash is that of something of a suite. The body is what follows the target.
struct Request: Sendable, ExpressibleByStringLiteral {
    var method: String
    var target: String
    var body: [UInt8]
    /// Fields as `If-Match: *`. One that is named Host takes the place of the usual one; an empty one leaves it out.
    var fields: [String]
    var version = "HTTP/1.1"

    init(_ text: String, _ fields: String...) {
        let words = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        method = String(words[0])
        let target = words.count > 1 ? String(words[1]) : ""
        let isWhole = target.hasPrefix("/") || target.hasPrefix("http:") || target == "*"
        self.target = isWhole ? target : "/v1/suites/\(target)"
        body = words.count > 2 ? Array(words[2].utf8) : []
        self.fields = fields
    }

    init(stringLiteral text: String) {
        self.init(text)
    }

    /// A request whose text goes on, for lines that would be too long.
    static func + (request: Request, more: String) -> Request {
        var request = request
        request.body += Array(more.utf8)
        return request
    }

    /// The same request with a body that is no text.
    func with(body: [UInt8]) -> Request {
        var request = self
        request.body = body
        return request
    }

    /// The same request in another version of the protocol.
    func with(version: String) -> Request {
        var request = self
        request.version = version
        return request
    }

    var isSafe: Bool { ["GET", "HEAD", "OPTIONS"].contains(method) }

    /// The request on the wire.
    var bytes: [UInt8] {
        var lines = ["\(method) \(target) \(version)"]
        let names = fields.map { $0.prefix { $0 != ":" }.lowercased() }
        if !names.contains("host") { lines.append("Host: localhost") }
        lines += fields.filter { !$0.isEmpty && $0 != "Host" }
        let hasLength = names.contains("content-length") || names.contains("transfer-encoding")
        if !hasLength, !body.isEmpty || !isSafe { lines.append("Content-Length: \(body.count)") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }
}

extension Request {
    /// The request with every `$n` replaced by the revision that was there after the n-th request before it.
    func naming(_ revisions: [String]) -> Request {
        var request = self
        request.target = target.naming(revisions)
        request.fields = fields.map { $0.naming(revisions) }
        if let text = String(validating: body, as: UTF8.self) { request.body = Array(text.naming(revisions).utf8) }
        return request
    }
}

extension String {
    /// The text with every `$n` replaced by the n-th of some revisions.
    func naming(_ revisions: [String]) -> String {
        guard utf8.contains(UInt8(ascii: "$")) else { return self }
        var text: [UInt8] = []
        let bytes = Array(utf8)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "$"), index + 1 < bytes.count,
                let number = Int(String(decoding: [bytes[index + 1]], as: UTF8.self)), number < revisions.count
            {
                text += Array(revisions[number].utf8)
                index += 2
            } else {
                text.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
