import HTTPWire
import Testing

/// Requests to bytes.
struct RequestWritingTests {
    @Test("Segments and values are percent-encoded, byte by byte") func segmentsValuesPercentEncoded() {
        let target = RequestTarget("v1", "keys", "a/b c?é%~").with("prefix", "x&y=z+")
            .with(flag: "dryRun", true).with(flag: "raw", false).with("after", nil).with("empty", "")
        #expect(target.text == "/v1/keys/a%2Fb%20c%3F%C3%A9%25~?prefix=x%26y%3Dz%2B&dryRun&empty=")
    }

    @Test("A read has no length, and a write always has one") func readHasNoLength() {
        func text(_ request: Request) -> String { String(decoding: request.bytes(host: "h:1"), as: UTF8.self) }
        #expect(text(Request(.get, RequestTarget("v1"))) == "GET /v1 HTTP/1.1\r\nHost: h:1\r\n\r\n")
        #expect(
            text(Request(.delete, RequestTarget("x")))
                == "DELETE /x HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n")
        var write = Request(.put, RequestTarget("x"), body: Array("42".utf8))
        write.fields.append("If-Match", text: "*")
        write.fields.append("Idempotency-Key", text: "k\r\n1")
        #expect(
            text(write)
                == "PUT /x HTTP/1.1\r\nHost: h:1\r\nIf-Match: *\r\nIdempotency-Key: k  1\r\n"
                + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n42")
    }

    @Test("Reads may be sent again, and writes with an idempotency key") func readsMaySentAgain() {
        var write = Request(.post, RequestTarget("x"))
        #expect(Request(.get, RequestTarget("x")).isRepeatable && !write.isRepeatable)
        write.fields.append("Idempotency-Key", text: "k")
        #expect(write.isRepeatable)
    }
}
