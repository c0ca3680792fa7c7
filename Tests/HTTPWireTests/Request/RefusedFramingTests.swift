import HTTPWire
import Testing

/// What two readers could take for messages of different lengths: the ways to smuggle a request past a proxy.
struct RefusedFramingTests {
    private static func post(_ fields: String, _ body: String = "", version: String = "1.1") -> String {
        "POST / HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
    }

    private static func chunked(_ body: String) -> String {
        post("Transfer-Encoding: chunked", body)
    }

    static let lengths: [RefusedRequest] = [
        RefusedRequest("two lengths", post("Content-Length: 5\r\nContent-Length: 6"), "Content-Length stands twice"),
        RefusedRequest("equal lengths", post("Content-Length: 5\r\ncontent-length: 5"), "Content-Length stands twice"),
        RefusedRequest("a list of lengths", post("Content-Length: 5, 5"), "one number in decimal"),
        RefusedRequest("a list without blank", post("Content-Length: 5,6"), "one number in decimal"),
        RefusedRequest("an empty length", post("Content-Length: "), "one number in decimal"),
        RefusedRequest("a plus sign", post("Content-Length: +5"), "one number in decimal"),
        RefusedRequest("a minus sign", post("Content-Length: -5"), "one number in decimal"),
        RefusedRequest("minus nothing", post("Content-Length: -0"), "one number in decimal"),
        RefusedRequest("a blank inside", post("Content-Length: 1 0"), "one number in decimal"),
        RefusedRequest("a tab inside", post("Content-Length: 1\t0"), "one number in decimal"),
        RefusedRequest("hexadecimal", post("Content-Length: 0x5"), "one number in decimal"),
        RefusedRequest("a fraction", post("Content-Length: 5.0"), "one number in decimal"),
        RefusedRequest("an exponent", post("Content-Length: 1e1"), "one number in decimal"),
        RefusedRequest("an underscore", post("Content-Length: 1_0"), "one number in decimal"),
        RefusedRequest("quotation marks", post("Content-Length: \"5\""), "one number in decimal"),
        RefusedRequest("junk before", post("Content-Length: a5"), "one number in decimal"),
        RefusedRequest("junk after", post("Content-Length: 5;"), "one number in decimal"),
        RefusedRequest("other digits", post("Content-Length: ٥"), "one number in decimal"),
        RefusedRequest("2^63", post("Content-Length: 9223372036854775808"), "beyond all bounds"),
        RefusedRequest("2^64 + 5", post("Content-Length: 18446744073709551621"), "beyond all bounds"),
        RefusedRequest(
            "many digits", post("Content-Length: 1" + String(repeating: "0", count: 99)), "beyond all bounds"),
        RefusedRequest("2^63 - 1", post("Content-Length: 9223372036854775807"), status: 413, "at most 16777216 bytes"),
        RefusedRequest("one too many", post("Content-Length: 16777217"), status: 413, "at most 16777216 bytes"),
    ]

    static let codings: [RefusedRequest] = [
        RefusedRequest("length, then chunks", post("Content-Length: 3\r\nTransfer-Encoding: chunked"), "contradict"),
        RefusedRequest("chunks, then length", post("Transfer-Encoding: chunked\r\nContent-Length: 3"), "contradict"),
        RefusedRequest("length and identity", post("Content-Length: 3\r\nTransfer-Encoding: identity"), "contradict"),
        RefusedRequest("chunks twice", post("Transfer-Encoding: chunked, chunked"), "once, and last"),
        RefusedRequest("chunks on two lines", chunkedTwice, "once, and last"),
        RefusedRequest("chunks not last", post("Transfer-Encoding: chunked, gzip"), "once, and last"),
        RefusedRequest("chunks, then nothing", post("Transfer-Encoding: chunked,"), "once, and last"),
        RefusedRequest("nothing, then chunks", post("Transfer-Encoding: ,chunked"), "must be: chunked"),
        RefusedRequest("an empty coding", post("Transfer-Encoding:"), "must be: chunked"),
        RefusedRequest("chunks with a parameter", post("Transfer-Encoding: chunked;q=1"), "must be: chunked"),
        RefusedRequest("chunks in quotation marks", post("Transfer-Encoding: \"chunked\""), "must be: chunked"),
        RefusedRequest("chunks and a blank", post("Transfer-Encoding: chunked x"), "must be: chunked"),
        RefusedRequest("a vertical tab", post("Transfer-Encoding: \u{B}chunked"), "control byte 0x0B"),
        RefusedRequest("a folded coding", post("Transfer-Encoding:\r\n chunked"), "must be: chunked"),
        RefusedRequest("a blank before the colon", post("Transfer-Encoding : chunked"), "a blank stands in the name"),
        RefusedRequest("gzip", post("Transfer-Encoding: gzip"), status: 501, "chunked"),
        RefusedRequest("identity", post("Transfer-Encoding: identity"), status: 501, "chunked"),
        RefusedRequest("xchunked", post("Transfer-Encoding: xchunked"), status: 501, "chunked"),
        RefusedRequest("gzip in chunks", post("Transfer-Encoding: gzip, chunked"), status: 501, "chunked"),
        RefusedRequest("gzip with a parameter", post("Transfer-Encoding: gzip;a=b"), status: 501, "chunked"),
        RefusedRequest("chunks in HTTP/1.0", post("Transfer-Encoding: chunked", version: "1.0"), "HTTP/1.0 has no"),
    ]

    private static let chunkedTwice = post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")

    static let chunks: [RefusedRequest] = [
        RefusedRequest("no size", chunked("\r\n"), "must begin with its size"),
        RefusedRequest("a size that is no number", chunked("x\r\n"), "found 'x'"),
        RefusedRequest("a sign", chunked("+1\r\na\r\n"), "found '+'"),
        RefusedRequest("a minus sign", chunked("-1\r\na\r\n"), "found '-'"),
        RefusedRequest("a prefix", chunked("0x1\r\na\r\n"), "found 'x'"),
        RefusedRequest("a blank before the size", chunked(" 1\r\na\r\n"), "must begin with its size"),
        RefusedRequest("a blank after the size", chunked("1 \r\na\r\n"), "must follow the size"),
        RefusedRequest("an underscore", chunked("1_0\r\n"), "must follow the size"),
        RefusedRequest("only an extension", chunked(";a=b\r\n"), "must begin with its size"),
        RefusedRequest("a bare line feed after the size", chunked("1\na\r\n"), "must follow the size"),
        RefusedRequest("a bare carriage return after the size", chunked("1\ra\r\n"), "without a line feed"),
        RefusedRequest("data that is too long", chunked("1\r\nab\r\n"), "longer than its size says"),
        RefusedRequest("data that is too short", chunked("3\r\na\r\n0\r\n\r\n"), "longer than its size says"),
        RefusedRequest("a bare line feed after the data", chunked("1\r\na\n0\r\n\r\n"), "longer than its size says"),
        RefusedRequest("a bare carriage return after the data", chunked("1\r\na\r0\r\n\r\n"), "without a line feed"),
        RefusedRequest("17 digits", chunked("00000000000000001\r\na\r\n"), "more than 16 digits"),
        RefusedRequest("2^64", chunked("10000000000000000\r\n"), status: 413, "at most 16777216"),
        RefusedRequest("all bits", chunked("ffffffffffffffff\r\n"), status: 413, "at most 16777216"),
        RefusedRequest("one byte too many", chunked("1000001\r\n"), status: 413, "at most 16777216"),
        RefusedRequest(
            "a long extension", chunked("1;" + String(repeating: "a", count: 254)), "must be at most 256 bytes"),
        RefusedRequest("NUL in an extension", chunked("1;a\0\r\n"), "the control byte 0x00"),
        RefusedRequest("a bare line feed in an extension", chunked("1;a\nb\r\n"), "the control byte 0x0A"),
        RefusedRequest("a bare carriage return in an extension", chunked("1;a\rb\r\n"), "without a line feed"),
        RefusedRequest("a bare line feed after the last chunk", chunked("0\n\n"), "must follow the size"),
        RefusedRequest("a bare line feed at the end", chunked("0\r\n\n"), "no ':'"),
        RefusedRequest("a trailer without colon", chunked("0\r\nGET / HTTP/1.1\r\n\r\n"), "a blank stands in the name"),
        RefusedRequest("a folded trailer", chunked("0\r\nA: b\r\n c\r\n\r\n"), "begins with a blank"),
        RefusedRequest("NUL in a trailer", chunked("0\r\nA: \0\r\n\r\n"), "the control byte 0x00"),
    ]

    @Test("A doubtful framing is refused, however it is divided", arguments: lengths + codings + chunks)
    func refused(_ refused: RefusedRequest) throws {
        try refused.check()
    }
}
