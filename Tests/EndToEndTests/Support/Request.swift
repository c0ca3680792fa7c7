import SettingsAPI
import SettingsModel
import TestSupport

/// A request in a short form: `PUT app/keys/volume 0.5`. The header fields are further arguments of the initializer.
///
/// A target without a leading slash is relative to /v1/suites/. The text after the target is the body.
struct Request: Sendable, ExpressibleByStringLiteral {
    var method: String
    var target: String
    var body: [UInt8]
    /// Fields such as `If-Match: *`. A Host field replaces the default Host. If the text is only `Host`, without a
    /// colon, the request has no Host field.
    var fields: [String]
    var version = "HTTP/1.1"

    init(_ text: String, _ fields: String...) {
        let words = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        method = String(words[0])
        let target = words.count > 1 ? String(words[1]) : ""
        let isAbsolute = target.hasPrefix("/") || target.hasPrefix("http:") || target == "*"
        self.target = isAbsolute ? target : "/v1/suites/\(target)"
        body = words.count > 2 ? Array(words[2].utf8) : []
        self.fields = fields
    }

    init(stringLiteral text: String) {
        self.init(text)
    }

    /// Appends text to the body, so that a long request can be split over several lines of code.
    static func + (request: Request, more: String) -> Request {
        var request = request
        request.body += Array(more.utf8)
        return request
    }

    /// The same request with another body.
    func with(body: [UInt8]) -> Request {
        var request = self
        request.body = body
        return request
    }

    /// The same request with another HTTP version.
    func with(version: String) -> Request {
        var request = self
        request.version = version
        return request
    }

    var isSafe: Bool { ["GET", "HEAD", "OPTIONS"].contains(method) }

    /// The encoded request.
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
    /// The request with every `$n`, where n is one digit, replaced by the revision after the n-th request of the test.
    /// `$0` stands for the revision before the first request.
    func replacingPlaceholders(with revisions: [String]) -> Request {
        var request = self
        request.target = target.replacingPlaceholders(with: revisions)
        request.fields = fields.map { $0.replacingPlaceholders(with: revisions) }
        if let text = String(validating: body, as: UTF8.self) {
            request.body = Array(text.replacingPlaceholders(with: revisions).utf8)
        }
        return request
    }
}

extension String {
    /// The text with every `$n`, where n is one digit, replaced by the revision with index n.
    func replacingPlaceholders(with revisions: [String]) -> String {
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

/// Schemas that many tests use.
enum Samples {
    /// A schema with a key of each JSON type except null. `fixed` is locked. Keys that begin with `x-` take any value.
    static let schema: Request = """
        PUT app/schema {"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",\
        "additionalProperties":false,"patternProperties":{"^x-":true},"properties":{\
        "volume":{"type":"number","maximum":1,"default":0.5},"count":{"type":"integer"},\
        "fixed":{"readOnly":true,"type":"integer","default":1},"name":{"type":"string","maxLength":3},\
        "tags":{"type":"array","items":{"type":"string"},"maxItems":3},"isOn":{"type":"boolean","default":false},\
        "shape":{"type":"object","properties":{"width":{"type":"integer"},"height":{"type":"integer"}},\
        "additionalProperties":false}}}
        """

    /// A schema that allows only `volume` (a number up to 10) and `count` (an integer from 0 to 10). Stored values that
    /// the schema does not allow become `invalid`, because the request has `onConflict=keep`.
    static let narrowSchema: Request = """
        PUT app/schema?onConflict=keep {"additionalProperties":false,"properties":{\
        "volume":{"type":"number","maximum":10},"count":{"type":"integer","minimum":0,"maximum":10}}}
        """
}

/// The contents of an answer of the HTTP API.
extension RawResponse {
    /// The parsed body. The limit on depth leaves room for the members around a value of the maximum depth.
    var json: JSONValue? { try? JSONValue(parsing: body, maximumDepth: JSONValue.maximumDepthAroundValues) }
    /// The revision in the cursor of the answer; nil if the answer has no cursor.
    var revision: Revision? { field("Settings-Cursor").flatMap { Cursor($0)?.revision } }
    /// The media type without its parameters.
    var type: String { String((field("Content-Type") ?? "").prefix { $0 != ";" }) }
    /// True if the answer reports that a write changed something.
    var reportsChange: Bool { json?["changed"] == true && json?["dryRun"] == nil && json?["replayed"] == nil }
}

extension Int32 {
    /// The smallest receive buffer that Linux allows for a socket.
    static let smallestReceiveBuffer: Int32 = 2304
}

extension RawClient {
    /// Sends a request and reads its answer.
    func ask(_ request: Request) throws -> RawResponse {
        try send(request.bytes)
        return try readResponse(toHead: request.method == "HEAD")
    }
}
