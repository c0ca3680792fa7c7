import HTTPWire
import Testing

/// Each case has a name, the bytes of a request, and a part of the reason in the error. The status is 400 by default.
struct RefusedRequestLineTests {
    static let methods: [RefusedRequest] = [
        RefusedRequest("no method", " / HTTP/1.1\r\n", "begin with a method"),
        RefusedRequest("a method in lower case", "get / HTTP/1.1\r\n", "such as GET (got 'g'"),
        RefusedRequest("a method with one small letter", "GEt / HTTP/1.1\r\n", "such as GET (got 't'"),
        RefusedRequest("a bracket in the method", "G(T / HTTP/1.1\r\n", "a space must follow the method"),
        RefusedRequest("a tab after the method", "GET\t/ HTTP/1.1\r\n", "a space must follow the method"),
        RefusedRequest("NUL in the method", "G\0T / HTTP/1.1\r\n", "byte 0x00"),
        RefusedRequest("a method without end", String(repeating: "A", count: 33), "at most 32 bytes"),
        RefusedRequest("a method of 33 bytes", String(repeating: "A", count: 33) + " / HTTP/1.1\r\n", "at most 32"),
        RefusedRequest("only the method", "GET\r\n", "got byte 0x0D"),
        RefusedRequest("a bare line feed first", "\nGET / HTTP/1.1\r\n", "begin with a method"),
        RefusedRequest("two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\n", "two empty lines"),
        RefusedRequest("a bare carriage return first", "\rGET / HTTP/1.1\r\n", "without a line feed"),
        RefusedRequest("TLS", bytes: [0x16, 0x03, 0x01, 0x02], "TLS"),
        RefusedRequest("a response", "HTTP/1.1 200 OK\r\n", "a space must follow the method"),
        RefusedRequest("CONNECT", "CONNECT example.org:443 HTTP/1.1\r\n", "CONNECT"),
        RefusedRequest("CONNECT with a path", "CONNECT / HTTP/1.1\r\n", "CONNECT"),
        RefusedRequest("JSON", "{\"a\":1}", "begin with a method"),
    ]

    /// The parser searches a target eight bytes at a time, so one forbidden byte is far from the start.
    static let targets: [RefusedRequest] = [
        RefusedRequest("no target", "GET HTTP/1.1\r\n", "must end with a version"),
        RefusedRequest("two spaces", "GET  / HTTP/1.1\r\n", "exactly one space and a target"),
        RefusedRequest("an empty target", "GET  HTTP/1.1\r\n", "exactly one space and a target"),
        RefusedRequest("only a space after the method", "GET \r\n", "exactly one space and a target"),
        RefusedRequest("a target without slash", "GET v1 HTTP/1.1\r\n", "must begin with '/' (got 'v'"),
        RefusedRequest("a query alone", "GET ?a HTTP/1.1\r\n", "must begin with '/' (got '?'"),
        RefusedRequest("a fragment", "GET /a#b HTTP/1.1\r\n", "write %23"),
        RefusedRequest("a fragment after the query", "GET /a?b#c HTTP/1.1\r\n", "write %23"),
        RefusedRequest("a tab in the target", "GET /a\tb HTTP/1.1\r\n", "byte 0x09"),
        RefusedRequest("NUL in the target", "GET /a\0 HTTP/1.1\r\n", "byte 0x00"),
        RefusedRequest("DEL in the target", "GET /a\u{7F} HTTP/1.1\r\n", "byte 0x7F"),
        RefusedRequest("DEL far into the target", "GET /abcdefghijklmnopqrstu\u{7F} HTTP/1.1\r\n", "byte 0x7F"),
        RefusedRequest("a carriage return in the target", "GET /a\rb HTTP/1.1\r\n", "must end with a version"),
        RefusedRequest("a star for GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS"),
        RefusedRequest("a star and more", "OPTIONS *a HTTP/1.1\r\n", "must begin with '/' (got '*'"),
        RefusedRequest("a star with a query", "OPTIONS *?a HTTP/1.1\r\n", "must begin with '/' (got '*'"),
        RefusedRequest("another scheme", "GET ftp://a/ HTTP/1.1\r\n", "must begin with '/' (got 'f'"),
        RefusedRequest("a scheme like http", "GET httpx://a/ HTTP/1.1\r\n", "http:// or https://"),
        RefusedRequest("a scheme without slashes", "GET http:a HTTP/1.1\r\n", "http:// or https://"),
        RefusedRequest("a URI without a host", "GET http:///a HTTP/1.1\r\n", "must name a host"),
        RefusedRequest("a URI with only a scheme", "GET http:// HTTP/1.1\r\n", "must name a host"),
        RefusedRequest("a URI with a user", "GET http://me@a/ HTTP/1.1\r\n", "no user"),
        RefusedRequest("a URI with a bad port", "GET http://a:8x/ HTTP/1.1\r\n", "must name a host"),
        RefusedRequest("a URI with a port out of range", "GET http://a:65536/ HTTP/1.1\r\n", "must name a host"),
        RefusedRequest("a URI with an open bracket", "GET http://[::1/ HTTP/1.1\r\n", "must name a host"),
        RefusedRequest("a URI with a query as host", "GET http://?a HTTP/1.1\r\n", "must name a host"),
    ]

    static let versions: [RefusedRequest] = [
        RefusedRequest("no version", "GET /\r\n", "must end with a version"),
        RefusedRequest("no version and a bare line feed", "GET /\n", "must end with a version"),
        RefusedRequest("a space and no version", "GET / \r\n", "must end with HTTP/1.1"),
        RefusedRequest("two spaces before the version", "GET /  HTTP/1.1\r\n", "must end with HTTP/1.1"),
        RefusedRequest("a version in lower case", "GET / http/1.1\r\n", "must end with HTTP/1.1"),
        RefusedRequest("another protocol", "GET / RTSP/1.0\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/0.9", "GET / HTTP/0.9\r\n", status: 505, "got HTTP/0)"),
        RefusedRequest("HTTP/2.0", "GET / HTTP/2.0\r\n", status: 505, "got HTTP/2)"),
        RefusedRequest("HTTP/3", "GET / HTTP/3\r\n", status: 505, "got HTTP/3)"),
        RefusedRequest("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505, "got HTTP/2)"),
        RefusedRequest("HTTP/1", "GET / HTTP/1\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/1.", "GET / HTTP/1.\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/11.1", "GET / HTTP/11.1\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/1.10", "GET / HTTP/1.10\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/1,1", "GET / HTTP/1,1\r\n", "got ','"),
        RefusedRequest("HTTP/x.1", "GET / HTTP/x.1\r\n", "got 'x'"),
        RefusedRequest("a space after the version", "GET / HTTP/1.1 \r\n", "got byte 0x20"),
        RefusedRequest("a word after the version", "GET / HTTP/1.1 a\r\n", "got byte 0x20"),
        RefusedRequest("a bare line feed", "GET / HTTP/1.1\n", "a line feed without a carriage return"),
        RefusedRequest("a bare carriage return", "GET / HTTP/1.1\rHost: a\r\n", "without a line feed"),
        RefusedRequest("two carriage returns", "GET / HTTP/1.1\r\r\n", "without a line feed"),
    ]

    @Test(
        "A malformed request line is refused at once, with any division of its bytes",
        arguments: methods + targets + versions)
    func refused(_ refused: RefusedRequest) throws {
        try refused.check()
    }
}

/// Each case has a name, the bytes of a request, and a part of the reason in the error. The status is 400 by default.
struct RefusedFieldTests {
    private static func head(_ fields: String) -> String {
        "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n"
    }

    static let lines: [RefusedRequest] = [
        RefusedRequest("no name", head(": a"), "a name before its ':'"),
        RefusedRequest("no colon", head("Accept"), "have a ':'"),
        RefusedRequest("a blank before the colon", head("Accept : a"), "follow the name directly"),
        RefusedRequest("a tab before the colon", head("Accept\t: a"), "follow the name directly"),
        RefusedRequest("a blank in the name", head("Acc ept: a"), "follow the name directly"),
        RefusedRequest("a folded line", head("Accept: a,\r\n b"), "begin with a space or tab"),
        RefusedRequest("a line folded with a tab", head("Accept: a,\r\n\tb"), "begin with a space or tab"),
        RefusedRequest("a blank before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "begin with a space"),
        RefusedRequest("a bracket in the name", head("Acc(ept: a"), "not contain '('"),
        RefusedRequest("NUL in the name", head("Acc\0ept: a"), "not contain byte 0x00"),
        RefusedRequest("a byte beyond ASCII in the name", bytes: Array(head("Acc").utf8.dropLast(4)) + [0xE9], "0xE9"),
        RefusedRequest("a bare line feed after a value", head("Accept: a\nB: c"), "a line feed without"),
        RefusedRequest("a bare carriage return in a value", head("Accept: a\rB: c"), "without a line feed"),
        RefusedRequest("one more carriage return", head("Accept: a\r"), "without a line feed"),
        RefusedRequest("NUL in a value", head("Accept: a\0b"), "(got byte 0x00"),
        RefusedRequest("a vertical tab in a value", head("Accept: a\u{B}b"), "(got byte 0x0B"),
        RefusedRequest("DEL in a value", head("Accept: a\u{7F}"), "(got byte 0x7F"),
        RefusedRequest("ESC in the value of an unknown field", head("X: 0123456789\u{1B}[0m"), "(got byte 0x1B"),
        RefusedRequest("a bare line feed as empty line", "GET / HTTP/1.1\r\nHost: a\r\n\n", "have a ':'"),
        RefusedRequest("a bare carriage return as empty line", head("A: b\r\n\ra"), "without a line feed"),
    ]

    static let hosts: [RefusedRequest] = [
        RefusedRequest("no Host", "GET / HTTP/1.1\r\nAccept: a\r\n\r\n", "must have the field Host"),
        RefusedRequest("no fields", "GET / HTTP/1.1\r\n\r\n", "must have the field Host"),
        RefusedRequest("no Host with a URI", "GET http://a/ HTTP/1.1\r\n\r\n", "must have the field Host"),
        RefusedRequest("two Hosts", head("Host: b"), "the field Host must occur once"),
        RefusedRequest("the same Host twice", head("host: a"), "the field Host must occur once"),
        RefusedRequest(
            "two Hosts with a URI", "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "Host must occur once"),
        RefusedRequest("a blank in Host", host("a b"), "must be a host"),
        RefusedRequest("a slash in Host", host("a/b"), "must be a host"),
        RefusedRequest("a URI as Host", host("http://a"), "must be a host"),
        RefusedRequest("a user in Host", host("me@a"), "must be a host"),
        RefusedRequest("a port that is no number", host("a:b"), "must be a host"),
        RefusedRequest("a port with a sign", host("a:+80"), "must be a host"),
        RefusedRequest("a port out of range", host("a:65536"), "must be a host"),
        RefusedRequest("a port without end", host("a:" + String(repeating: "9", count: 40)), "must be a host"),
        RefusedRequest("two ports", host("a:80:80"), "must be a host"),
        RefusedRequest("only a port", host(":80"), "must be a host"),
        RefusedRequest("an address without brackets", host("::1"), "must be a host"),
        RefusedRequest("an open bracket", host("[::1"), "must be a host"),
        RefusedRequest("empty brackets", host("[]"), "must be a host"),
        RefusedRequest("a name in brackets", host("[example]"), "must be a host"),
        RefusedRequest("more after the brackets", host("[::1]a"), "must be a host"),
        RefusedRequest("percent-encoding in Host", host("a%20b"), "must be a host"),
        RefusedRequest("text beyond ASCII in Host", host("é"), "must be a host"),
        RefusedRequest(
            "an invalid Host with a URI", "GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n", "must be a host"),
    ]

    private static func host(_ value: String) -> String {
        "GET / HTTP/1.1\r\nHost: \(value)\r\n\r\n"
    }

    /// Two lines of each field that the parser stores, except Host (see ``hosts``) and the fields that may occur on
    /// several lines.
    static let duplicates: [RefusedRequest] = FieldName.allCases
        .filter {
            ![
                .host, .connection, .transferEncoding, .accept, .ifMatch, .ifNoneMatch, .prefer,
                .forwardedFor, .requestID, .traceParent, .referer, .userAgent,
            ].contains($0)
        }
        .map { name in
            let value = name == .expect ? "100-continue" : "1"
            return RefusedRequest(
                "\(name.text) twice", head("\(name.text): \(value)\r\n\("\(name.text)".uppercased()): \(value)"),
                "the field \(name.text) must occur once")
        }

    static let expectations: [RefusedRequest] = [
        RefusedRequest("another expectation", head("Expect: 200-ok"), status: 417, "100-continue"),
        RefusedRequest("an empty expectation", head("Expect:"), status: 417, "100-continue"),
        RefusedRequest("two expectations", head("Expect: 100-continue, 100-continue"), status: 417, "100-continue"),
    ]

    @Test(
        "A malformed field is refused, with any division of its bytes",
        arguments: lines + hosts + duplicates + expectations)
    func refused(_ refused: RefusedRequest) throws {
        try refused.check()
    }
}

/// Tests of messages whose length two parsers could read differently. With these messages, an attacker could smuggle a
/// request through a proxy. Each case has a name, the bytes of a request, and a part of the reason in the error. The
/// status is 400 by default, and the limit of a body is 16,777,216 bytes.
struct RefusedFramingTests {
    private static func post(_ fields: String, _ body: String = "", version: String = "1.1") -> String {
        "POST / HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
    }

    private static func chunked(_ body: String) -> String {
        post("Transfer-Encoding: chunked", body)
    }

    static let lengths: [RefusedRequest] = [
        RefusedRequest("two lengths", post("Content-Length: 5\r\nContent-Length: 6"), "Content-Length must occur once"),
        RefusedRequest(
            "equal lengths", post("Content-Length: 5\r\ncontent-length: 5"), "Content-Length must occur once"),
        RefusedRequest("a list of lengths", post("Content-Length: 5, 5"), "one number in decimal"),
        RefusedRequest("a list without blank", post("Content-Length: 5,6"), "one number in decimal"),
        RefusedRequest("an empty length", post("Content-Length: "), "one number in decimal"),
        RefusedRequest("a plus sign", post("Content-Length: +5"), "one number in decimal"),
        RefusedRequest("a minus sign", post("Content-Length: -5"), "one number in decimal"),
        RefusedRequest("minus zero", post("Content-Length: -0"), "one number in decimal"),
        RefusedRequest("a blank inside", post("Content-Length: 1 0"), "one number in decimal"),
        RefusedRequest("a tab inside", post("Content-Length: 1\t0"), "one number in decimal"),
        RefusedRequest("hexadecimal", post("Content-Length: 0x5"), "one number in decimal"),
        RefusedRequest("a fraction", post("Content-Length: 5.0"), "one number in decimal"),
        RefusedRequest("an exponent", post("Content-Length: 1e1"), "one number in decimal"),
        RefusedRequest("an underscore", post("Content-Length: 1_0"), "one number in decimal"),
        RefusedRequest("quotation marks", post("Content-Length: \"5\""), "one number in decimal"),
        RefusedRequest("a letter before the digits", post("Content-Length: a5"), "one number in decimal"),
        RefusedRequest("a semicolon after the digits", post("Content-Length: 5;"), "one number in decimal"),
        RefusedRequest("Arabic-Indic digits", post("Content-Length: ٥"), "one number in decimal"),
        RefusedRequest("2^63", post("Content-Length: 9223372036854775808"), "must be at most \(Int.max)"),
        RefusedRequest("2^64 + 5", post("Content-Length: 18446744073709551621"), "must be at most \(Int.max)"),
        RefusedRequest(
            "a number of 100 digits", post("Content-Length: 1" + String(repeating: "0", count: 99)),
            "must be at most \(Int.max)"),
        RefusedRequest("2^63 - 1", post("Content-Length: 9223372036854775807"), status: 413, "at most 16777216 bytes"),
        RefusedRequest(
            "one byte more than the limit", post("Content-Length: 16777217"), status: 413, "at most 16777216 bytes"),
    ]

    static let codings: [RefusedRequest] = [
        RefusedRequest(
            "Content-Length, then chunked", post("Content-Length: 3\r\nTransfer-Encoding: chunked"),
            "both Content-Length and Transfer-Encoding"),
        RefusedRequest(
            "chunked, then Content-Length", post("Transfer-Encoding: chunked\r\nContent-Length: 3"),
            "both Content-Length and Transfer-Encoding"),
        RefusedRequest(
            "Content-Length and identity", post("Content-Length: 3\r\nTransfer-Encoding: identity"),
            "both Content-Length and Transfer-Encoding"),
        RefusedRequest("chunked twice in one field", post("Transfer-Encoding: chunked, chunked"), "once, at its end"),
        RefusedRequest("chunked in two fields", chunkedTwice, "once, at its end"),
        RefusedRequest("chunked before gzip", post("Transfer-Encoding: chunked, gzip"), "once, at its end"),
        RefusedRequest("chunked, then an empty element", post("Transfer-Encoding: chunked,"), "once, at its end"),
        RefusedRequest("an empty element, then chunked", post("Transfer-Encoding: ,chunked"), "must be: chunked"),
        RefusedRequest("an empty coding", post("Transfer-Encoding:"), "must be: chunked"),
        RefusedRequest("chunked with a parameter", post("Transfer-Encoding: chunked;q=1"), "must be: chunked"),
        RefusedRequest("chunked in quotation marks", post("Transfer-Encoding: \"chunked\""), "must be: chunked"),
        RefusedRequest("chunked and another word", post("Transfer-Encoding: chunked x"), "must be: chunked"),
        RefusedRequest("a vertical tab", post("Transfer-Encoding: \u{B}chunked"), "(got byte 0x0B"),
        RefusedRequest("a folded coding", post("Transfer-Encoding:\r\n chunked"), "must be: chunked"),
        RefusedRequest("a blank before the colon", post("Transfer-Encoding : chunked"), "follow the name directly"),
        RefusedRequest("gzip", post("Transfer-Encoding: gzip"), status: 501, "chunked"),
        RefusedRequest("identity", post("Transfer-Encoding: identity"), status: 501, "chunked"),
        RefusedRequest("xchunked", post("Transfer-Encoding: xchunked"), status: 501, "chunked"),
        RefusedRequest("gzip, then chunked", post("Transfer-Encoding: gzip, chunked"), status: 501, "chunked"),
        RefusedRequest("gzip with a parameter", post("Transfer-Encoding: gzip;a=b"), status: 501, "chunked"),
        RefusedRequest(
            "chunked in HTTP/1.0", post("Transfer-Encoding: chunked", version: "1.0"), "a message of HTTP/1.0"),
    ]

    private static let chunkedTwice = post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")

    static let chunks: [RefusedRequest] = [
        RefusedRequest("no size", chunked("\r\n"), "must begin with its size"),
        RefusedRequest("a size that is no number", chunked("x\r\n"), "got 'x'"),
        RefusedRequest("a plus sign", chunked("+1\r\na\r\n"), "got '+'"),
        RefusedRequest("a minus sign", chunked("-1\r\na\r\n"), "got '-'"),
        RefusedRequest("the prefix 0x", chunked("0x1\r\na\r\n"), "got 'x'"),
        RefusedRequest("a blank before the size", chunked(" 1\r\na\r\n"), "must begin with its size"),
        RefusedRequest("a blank after the size", chunked("1 \r\na\r\n"), "must follow the size"),
        RefusedRequest("an underscore", chunked("1_0\r\n"), "must follow the size"),
        RefusedRequest("only an extension", chunked(";a=b\r\n"), "must begin with its size"),
        RefusedRequest("a bare line feed after the size", chunked("1\na\r\n"), "must follow the size"),
        RefusedRequest("a bare carriage return after the size", chunked("1\ra\r\n"), "without a line feed"),
        RefusedRequest("data that is too long", chunked("1\r\nab\r\n"), "follow the data of a chunk"),
        RefusedRequest("data that is too short", chunked("3\r\na\r\n0\r\n\r\n"), "follow the data of a chunk"),
        RefusedRequest("a bare line feed after the data", chunked("1\r\na\n0\r\n\r\n"), "follow the data of a chunk"),
        RefusedRequest("a bare carriage return after the data", chunked("1\r\na\r0\r\n\r\n"), "without a line feed"),
        RefusedRequest("17 digits", chunked("00000000000000001\r\na\r\n"), "at most 16 digits"),
        RefusedRequest("2^64", chunked("10000000000000000\r\n"), status: 413, "at most 16777216"),
        RefusedRequest("a size with all 64 bits set", chunked("ffffffffffffffff\r\n"), status: 413, "at most 16777216"),
        RefusedRequest("one byte more than the limit", chunked("1000001\r\n"), status: 413, "at most 16777216"),
        RefusedRequest(
            "a long extension", chunked("1;" + String(repeating: "a", count: 254)), "must be at most 256 bytes"),
        RefusedRequest("NUL in an extension", chunked("1;a\0\r\n"), "(got byte 0x00"),
        RefusedRequest("a bare line feed in an extension", chunked("1;a\nb\r\n"), "(got byte 0x0A"),
        RefusedRequest("a bare carriage return in an extension", chunked("1;a\rb\r\n"), "without a line feed"),
        RefusedRequest("a bare line feed after the last chunk", chunked("0\n\n"), "must follow the size"),
        RefusedRequest("a bare line feed at the end", chunked("0\r\n\n"), "have a ':'"),
        RefusedRequest("a trailer without colon", chunked("0\r\nGET / HTTP/1.1\r\n\r\n"), "follow the name directly"),
        RefusedRequest("a folded trailer", chunked("0\r\nA: b\r\n c\r\n\r\n"), "begin with a space or tab"),
        RefusedRequest("NUL in a trailer", chunked("0\r\nA: \0\r\n\r\n"), "(got byte 0x00"),
    ]

    @Test("An ambiguous framing is refused, with any division of its bytes", arguments: lengths + codings + chunks)
    func refused(_ refused: RefusedRequest) throws {
        try refused.check()
    }
}
