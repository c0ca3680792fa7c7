import Foundation
import TestSupport
import Testing

@testable import HTTPWire

struct ResponseWriterTests {
    private static let date = HTTPDate(unixSeconds: 784_111_777)

    private static func text(
        _ response: Response, omitsBody: Bool = false, keepAlive: Bool = true, http11: Bool = true
    ) -> String {
        var output: [UInt8] = []
        ResponseWriter.append(
            response, to: &output, omitsBody: omitsBody, keepAlive: keepAlive, http11: http11, date: date)
        return String(decoding: output, as: UTF8.self)
    }

    private static let dateLine = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

    private static var plain: Response {
        var fields = FieldBlock()
        fields.append("ETag", text: "\"17\"")
        return Response(status: 200, contentType: .json, fields: fields, body: Array("42".utf8))
    }

    @Test("A response has status line, date, type, fields, length, empty line and body in this order")
    func wholeResponse() {
        #expect(
            Self.text(Self.plain)
                == "HTTP/1.1 200 OK\r\n\(Self.dateLine)Content-Type: application/json\r\nETag: \"17\"\r\n"
                + "Content-Length: 2\r\n\r\n42")
    }

    @Test
    func `The response to HEAD is the response to GET without the body`() {
        #expect(Self.text(Self.plain, omitsBody: true) + "42" == Self.text(Self.plain))
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
        "The field Connection is written with `close` in both versions, and with `keep-alive` only in HTTP/1.0",
        arguments: [
            (true, true, ""), (false, true, "Connection: close\r\n"), (true, false, "Connection: keep-alive\r\n"),
            (false, false, "Connection: close\r\n"),
        ])
    func connection(_ keepAlive: Bool, _ http11: Bool, _ expected: String) {
        let text = Self.text(Response(status: 200), keepAlive: keepAlive, http11: http11)
        #expect(text == "HTTP/1.1 200 OK\r\n\(Self.dateLine)Content-Length: 0\r\n\(expected)\r\n")
    }

    @Test("Responses are appended to the buffer")
    func appended() {
        var output = Array("before".utf8)
        for _ in 0..<3 {
            ResponseWriter.append(
                Self.plain, to: &output, omitsBody: false, keepAlive: true, http11: true, date: Self.date)
        }
        let one = Self.text(Self.plain)
        #expect(String(decoding: output, as: UTF8.self) == "before" + one + one + one)
    }

    @Test(
        "Each status has its reason phrase",
        arguments: [
            (201, "Created"), (400, "Bad Request"), (412, "Precondition Failed"), (413, "Content Too Large"),
            (421, "Misdirected Request"), (422, "Unprocessable Content"), (431, "Request Header Fields Too Large"),
            (505, "HTTP Version Not Supported"), (507, "Insufficient Storage"), (599, ""),
        ])
    func phrases(_ status: Int, _ phrase: String) {
        #expect(Self.text(Response(status: status)).hasPrefix("HTTP/1.1 \(status) \(phrase)\r\n"))
    }

    @Test("A stream is chunked for HTTP/1.1 and unframed for HTTP/1.0")
    func stream() {
        var response = Response(status: 200, contentType: .eventStream)
        response.body = Array("id: 1\n\n".utf8)
        func stream(http11: Bool) -> String {
            var output: [UInt8] = []
            ResponseWriter.appendStreamHead(
                response, to: &output, omitsBody: false, keepAlive: true, http11: http11, date: Self.date)
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

    @Test("The interim response 100 Continue is complete")
    func continueLine() {
        #expect("\(ResponseWriter.continueLine)" == "HTTP/1.1 100 Continue\r\n\r\n")
    }
}

struct FieldBlockTests {
    private static func text(_ block: FieldBlock) -> String {
        String(decoding: block.bytes, as: UTF8.self)
    }

    @Test("Fields of text, bytes and numbers are written as lines")
    func lines() {
        var block = FieldBlock(reservingCapacity: 64)
        #expect(block.isEmpty)
        block.append("Cache-Control", "no-cache")
        block.append("ETag", text: "\"é\"")
        block.append("Allow", Array("GET, PUT".utf8).span)
        block.append("Retry-After", integer: 30)
        block.append("X", integer: .min)
        block.append("Y", integer: 0)
        var other = FieldBlock()
        other.append("Z", "")
        block.append(other)
        #expect(
            Self.text(block)
                == "Cache-Control: no-cache\r\nETag: \"é\"\r\nAllow: GET, PUT\r\nRetry-After: 30\r\n"
                + "X: -9223372036854775808\r\nY: 0\r\nZ: \r\n")
    }

    @Test("Line breaks and control bytes in a field value are replaced with spaces")
    func injection() {
        for byte in UInt8.min...UInt8.max {
            var block = FieldBlock()
            block.append("A", [0x61, byte, 0x62].span)
            let isControl = byte < 0x20 || byte == 0x7F
            #expect(block.bytes == Array("A: a".utf8) + [isControl ? 0x20 : byte] + Array("b\r\n".utf8))
        }
        var block = FieldBlock()
        block.append("A", text: "a\r\nSet-Cookie: b\r\n\r\n<html>\0")
        block.append("B", "c\nd")
        #expect(Self.text(block) == "A: a  Set-Cookie: b    <html> \r\nB: c d\r\n")
    }

    @Test("A field block allows no malformed name, and no field that only ResponseWriter may add")
    func names() {
        let allowed: [StaticString] = ["ETag", "Settings-Cursor", "Datee"]
        let forbidden: [StaticString] = [
            "Content-Length", "content-type", "Transfer-Encoding", "CONNECTION", "Date", "", "A B", "A:", "A\r\nB", "é",
        ]
        for name in allowed { #expect(FieldBlock.isAllowed(name)) }
        for name in forbidden { #expect(!FieldBlock.isAllowed(name)) }
    }
}

struct HTTPDateTests {
    @Test(
        "A time in seconds since 1970 has its HTTP date, and a time outside 1970 to 9999 has the nearest date",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Thu, 01 Jan 1970 00:00:00 GMT"), (.min, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ])
    func date(_ seconds: Int, _ expected: String) {
        #expect(HTTPDate(unixSeconds: seconds).text == expected)
    }

    @Test("A random time has the same date as in Foundation")
    func againstFoundation() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        for var generator in FuzzBudget.generators(roundsFactor: 0.1) {
            // 253,402,300,800 is the first second of the year 10000.
            let seconds = generator.below(253_402_300_800)
            let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            guard HTTPDate(unixSeconds: seconds).text == expected else {
                Issue.record("seed \(generator.seed): \(HTTPDate(unixSeconds: seconds).text), not \(expected)")
                return
            }
        }
    }
}
