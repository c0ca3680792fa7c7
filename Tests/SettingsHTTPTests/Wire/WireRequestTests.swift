import SettingsModel
import Testing

@testable import SettingsHTTP

/// From requests to bytes.
struct WireRequestTests {
    @Test func `Segments and values are percent-encoded, byte by byte`() throws {
        let target = RequestTarget.key(try KeyName("a/b c?é%~"), try SuiteName("app")).with("prefix", "x&y=z+")
            .with(flag: "dryRun", true).with(flag: "raw", false).with("after", nil).with("empty", "")
        #expect(
            target.text == "/v1/suites/app/keys/a%2Fb%20c%3F%C3%A9%25~?prefix=x%26y%3Dz%2B&dryRun&empty=")
    }

    @Test func `A read has no length, and a write always has one`() {
        let read = WireRequest(.get, RequestTarget("v1"))
        #expect(String(decoding: read.bytes(host: "h:1"), as: UTF8.self) == "GET /v1 HTTP/1.1\r\nHost: h:1\r\n\r\n")
        let removal = WireRequest(.delete, RequestTarget("x"))
        #expect(
            String(decoding: removal.bytes(host: "h"), as: UTF8.self)
                == "DELETE /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
        let write = WireRequest(.put, RequestTarget("x"), body: Array("42".utf8)).with(
            WriteOptions(ifMatch: .any, isDryRun: true, overridesLocks: true, requestKey: RequestKey("k 1")))
        #expect(
            String(decoding: write.bytes(host: "h"), as: UTF8.self)
                == "PUT /x?dryRun&override=locked HTTP/1.1\r\nHost: h\r\nIf-Match: *\r\nIdempotency-Key: k 1\r\n"
                + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n42")
    }

    @Test func `Reads may be sent again, and writes that the daemon knows again`() {
        #expect(WireRequest(.get, RequestTarget("x")).isRepeatable)
        #expect(!WireRequest(.put, RequestTarget("x")).with(.ifAbsent).isRepeatable)
        #expect(WireRequest(.post, RequestTarget("x")).with(.plain.repeatable()).isRepeatable)
    }

    @Test func `Keys of requests are unlike each other`() {
        let keys = (0..<100).map { _ in RequestKey.unique() }
        #expect(Set(keys).count == 100)
    }
}
