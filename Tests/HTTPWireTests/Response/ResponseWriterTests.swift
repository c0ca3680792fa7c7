import HTTPWire
import Testing

struct ResponseWriterTests {
    private static let date = HTTPDate(unixSeconds: 784_111_777)

    private static func text(
        _ response: Response, head: Bool = false, keepAlive: Bool = true, http11: Bool = true
    ) -> String {
        var output: [UInt8] = []
        ResponseWriter.append(
            response, to: &output, head: head, keepAlive: keepAlive, http11: http11, date: date)
        return String(decoding: output, as: UTF8.self)
    }

    private static let dateLine = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

    private static var plain: Response {
        var fields = FieldBlock()
        fields.append("ETag", text: "\"17\"")
        return Response(status: 200, contentType: .json, fields: fields, body: Array("42".utf8))
    }

    @Test("Status line, date, type, fields, length, empty line and body stand in that order")
    func whole() {
        #expect(
            Self.text(Self.plain)
                == "HTTP/1.1 200 OK\r\n\(Self.dateLine)Content-Type: application/json\r\nETag: \"17\"\r\n"
                + "Content-Length: 2\r\n\r\n42")
    }

    @Test("The answer to HEAD is that to GET without the body")
    func answerToHead() {
        #expect(Self.text(Self.plain, head: true) + "42" == Self.text(Self.plain))
    }

    @Test(
        "204 and 304 have no body, no length and no type; an empty body has the length 0",
        arguments: [(204, "No Content", ""), (304, "Not Modified", ""), (200, "OK", "Content-Length: 0\r\n")])
    func withoutBody(_ status: Int, _ phrase: String, _ length: String) {
        #expect(
            Self.text(Response(status: status)) == "HTTP/1.1 \(status) \(phrase)\r\n\(Self.dateLine)\(length)\r\n")
        if status != 200 {
            let full = Response(status: status, contentType: .json, body: [0x31])
            #expect(Self.text(full) == Self.text(Response(status: status)))
        }
    }

    @Test(
        "Connection says what is not the rule of the version",
        arguments: [
            (true, true, false, ""), (false, true, false, "Connection: close\r\n"),
            (true, true, true, "Connection: close\r\n"), (true, false, false, "Connection: keep-alive\r\n"),
            (false, false, false, "Connection: close\r\n"), (true, false, true, "Connection: close\r\n"),
        ])
    func connection(_ keepAlive: Bool, _ http11: Bool, _ closes: Bool, _ expected: String) {
        let text = Self.text(Response(status: 200, closes: closes), keepAlive: keepAlive, http11: http11)
        #expect(text == "HTTP/1.1 200 OK\r\n\(Self.dateLine)Content-Length: 0\r\n\(expected)\r\n")
    }

    @Test("Responses are added to what is there already")
    func appended() {
        var output = Array("before".utf8)
        for _ in 0..<3 {
            ResponseWriter.append(
                Self.plain, to: &output, head: false, keepAlive: true, http11: true, date: Self.date)
        }
        let one = Self.text(Self.plain)
        #expect(String(decoding: output, as: UTF8.self) == "before" + one + one + one)
    }

    @Test(
        "Every status that is sent has its phrase",
        arguments: [
            (201, "Created"), (400, "Bad Request"), (412, "Precondition Failed"), (413, "Content Too Large"),
            (421, "Misdirected Request"), (422, "Unprocessable Content"), (431, "Request Header Fields Too Large"),
            (505, "HTTP Version Not Supported"), (507, "Insufficient Storage"), (599, ""),
        ])
    func phrases(_ status: Int, _ phrase: String) {
        #expect(Self.text(Response(status: status)).hasPrefix("HTTP/1.1 \(status) \(phrase)\r\n"))
    }

    @Test("A stream goes out in chunks, and as it is to HTTP/1.0")
    func stream() {
        var response = Response(status: 200, contentType: .eventStream)
        response.body = Array("id: 1\n\n".utf8)
        func stream(http11: Bool) -> String {
            var output: [UInt8] = []
            ResponseWriter.appendStreamHead(
                response, to: &output, head: false, keepAlive: true, http11: http11, date: Self.date)
            for piece in ["", "0123456789abcdef"] {
                ResponseWriter.appendChunk(Array(piece.utf8).span, to: &output, http11: http11)
            }
            if http11 { output.append(ResponseWriter.lastChunk) }
            return String(decoding: output, as: UTF8.self)
        }
        let head = "HTTP/1.1 200 OK\r\n\(Self.dateLine)Content-Type: text/event-stream\r\n"
        #expect(
            stream(http11: true)
                == head + "Transfer-Encoding: chunked\r\n\r\n7\r\nid: 1\n\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n")
        #expect(stream(http11: false) == head + "Connection: close\r\n\r\nid: 1\n\n0123456789abcdef")
    }

    @Test("A request that expects 100 Continue gets it")
    func continueLine() {
        #expect("\(ResponseWriter.continueLine)" == "HTTP/1.1 100 Continue\r\n\r\n")
    }
}
