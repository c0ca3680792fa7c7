/// An answer as received.
package struct RawResponse: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package let name: String
        package let value: String
    }

    package let status: Int
    package let reason: String
    package let fields: [Field]
    package var body: [UInt8] = []

    /// The body as text, without the final newline of a JSON answer.
    package var text: String {
        // All types of the daemon that begin with `application/` are JSON, such as `application/problem+json`.
        let isJSON = field("Content-Type")?.hasPrefix("application/") ?? false
        return String(decoding: isJSON && body.last == UInt8(ascii: "\n") ? body.dropLast() : body[...], as: UTF8.self)
    }

    /// The value of the first field with this name. The case of the name does not matter.
    package func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// True if the body is chunked.
    var isChunked: Bool { field("Transfer-Encoding")?.lowercased() == "chunked" }

    /// The length of a body that is not chunked.
    var length: Int { field("Content-Length").flatMap { Int($0) } ?? 0 }

    /// True if the status allows a body. This property does not know whether the request was a HEAD request.
    var mayHaveBody: Bool { status >= 200 && status != 204 && status != 304 }

    init(head: ArraySlice<UInt8>) throws {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
        let words = (lines.first ?? "").split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw RawClient.Failure.malformed(String(lines.first ?? ""))
        }
        self.status = status
        reason = words.count > 2 ? String(words[2]) : ""
        fields = try lines.dropFirst().map { line in
            guard let colon = line.firstIndex(of: ":") else { throw RawClient.Failure.malformed(String(line)) }
            return Field(
                name: String(line[..<colon]),
                value: String(line[line.index(after: colon)...].drop { $0 == " " }))
        }
    }
}
