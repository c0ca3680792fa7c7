import SettingsAPI
import SettingsModel
import TestSupport

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

/// Requests that many tables begin with.
enum Samples {
    /// A schema of one key of each kind that the tables speak of.
    static let schema: Request = """
        PUT app/schema {"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",\
        "additionalProperties":false,"patternProperties":{"^x-":true},"properties":{\
        "volume":{"type":"number","maximum":1,"default":0.5},"count":{"type":"integer"},\
        "fixed":{"readOnly":true,"type":"integer","default":1},"name":{"type":"string","maxLength":3},\
        "tags":{"type":"array","items":{"type":"string"},"maxItems":3},"isOn":{"type":"boolean","default":false},\
        "shape":{"type":"object","properties":{"width":{"type":"integer"},"height":{"type":"integer"}},\
        "additionalProperties":false}}}
        """

    /// A schema that admits nothing of what the one above does, but numbers to 10.
    static let narrow: Request = """
        PUT app/schema?onConflict=keep {"additionalProperties":false,"properties":{\
        "volume":{"type":"number","maximum":10},"count":{"type":"integer","minimum":0,"maximum":10}}}
        """
}

/// What an answer says in the terms of the interface.
extension RawResponse {
    /// The body; a value of the greatest depth stands some levels down in it.
    var json: JSONValue? { try? JSONValue(parsing: body, maximumDepth: JSONValue.maximumDepthAroundValues) }
    /// The revision of the cursor that every answer carries.
    var revision: Revision? { field("Settings-Cursor").flatMap { Cursor($0)?.revision } }
    /// The type without its parameters.
    var type: String { String((field("Content-Type") ?? "").prefix { $0 != ";" }) }
    /// True if it says that a write changed something.
    var tellsOfChange: Bool { json?["changed"] == true && json?["dryRun"] == nil && json?["replayed"] == nil }
}

extension RawClient {
    /// Sends a request and reads its answer.
    func ask(_ request: Request) throws -> RawResponse {
        try send(request.bytes)
        return try readResponse(toHead: request.method == "HEAD")
    }
}
