import HTTPWire
import Testing

struct RefusedRequestLineTests {
    static let methods: [RefusedRequest] = [
        RefusedRequest("no method", " / HTTP/1.1\r\n", "begins with a method"),
        RefusedRequest("a method in lower case", "get / HTTP/1.1\r\n", "in capitals, as GET; found 'g'"),
        RefusedRequest("a method with one small letter", "GEt / HTTP/1.1\r\n", "in capitals, as GET; found 't'"),
        RefusedRequest("a bracket in the method", "G(T / HTTP/1.1\r\n", "a space ends the method"),
        RefusedRequest("a tab after the method", "GET\t/ HTTP/1.1\r\n", "a space ends the method"),
        RefusedRequest("NUL in the method", "G\0T / HTTP/1.1\r\n", "byte 0x00"),
        RefusedRequest("a method without end", String(repeating: "A", count: 33), "at most 32 bytes"),
        RefusedRequest("a method of 33 bytes", String(repeating: "A", count: 33) + " / HTTP/1.1\r\n", "at most 32"),
        RefusedRequest("only the method", "GET\r\n", "found byte 0x0D"),
        RefusedRequest("a bare line feed first", "\nGET / HTTP/1.1\r\n", "begins with a method"),
        RefusedRequest("two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\n", "more than one empty line"),
        RefusedRequest("a bare carriage return first", "\rGET / HTTP/1.1\r\n", "without a line feed"),
        RefusedRequest("TLS", bytes: [0x16, 0x03, 0x01, 0x02], "looks like TLS"),
        RefusedRequest("a response", "HTTP/1.1 200 OK\r\n", "a space ends the method"),
        RefusedRequest("CONNECT", "CONNECT example.org:443 HTTP/1.1\r\n", "opens no tunnels"),
        RefusedRequest("CONNECT with a path", "CONNECT / HTTP/1.1\r\n", "opens no tunnels"),
        RefusedRequest("JSON", "{\"a\":1}", "begins with a method"),
    ]

    static let targets: [RefusedRequest] = [
        RefusedRequest("no target", "GET HTTP/1.1\r\n", "ends without a version"),
        RefusedRequest("two spaces", "GET  / HTTP/1.1\r\n", "exactly one space and a target"),
        RefusedRequest("an empty target", "GET  HTTP/1.1\r\n", "exactly one space and a target"),
        RefusedRequest("nothing after the method", "GET \r\n", "exactly one space and a target"),
        RefusedRequest("a target without slash", "GET v1 HTTP/1.1\r\n", "must begin with '/'; found 'v'"),
        RefusedRequest("a query alone", "GET ?a HTTP/1.1\r\n", "must begin with '/'; found '?'"),
        RefusedRequest("a fragment", "GET /a#b HTTP/1.1\r\n", "write it as %23"),
        RefusedRequest("a fragment after the query", "GET /a?b#c HTTP/1.1\r\n", "write it as %23"),
        RefusedRequest("a tab in the target", "GET /a\tb HTTP/1.1\r\n", "the byte 0x09"),
        RefusedRequest("NUL in the target", "GET /a\0 HTTP/1.1\r\n", "the byte 0x00"),
        RefusedRequest("DEL in the target", "GET /a\u{7F} HTTP/1.1\r\n", "the byte 0x7F"),
        RefusedRequest("DEL far into it", "GET /abcdefghijklmnopqrstu\u{7F} HTTP/1.1\r\n", "the byte 0x7F"),
        RefusedRequest("a carriage return in the target", "GET /a\rb HTTP/1.1\r\n", "ends without a version"),
        RefusedRequest("a star for GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "for OPTIONS only"),
        RefusedRequest("a star and more", "OPTIONS *a HTTP/1.1\r\n", "must begin with '/'; found '*'"),
        RefusedRequest("a star with a query", "OPTIONS *?a HTTP/1.1\r\n", "must begin with '/'; found '*'"),
        RefusedRequest("another scheme", "GET ftp://a/ HTTP/1.1\r\n", "must begin with '/'; found 'f'"),
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
        RefusedRequest("no version", "GET /\r\n", "ends without a version"),
        RefusedRequest("no version and a bare line feed", "GET /\n", "ends without a version"),
        RefusedRequest("a space and no version", "GET / \r\n", "must end with HTTP/1.1"),
        RefusedRequest("two spaces before the version", "GET /  HTTP/1.1\r\n", "must end with HTTP/1.1"),
        RefusedRequest("a version in lower case", "GET / http/1.1\r\n", "must end with HTTP/1.1"),
        RefusedRequest("another protocol", "GET / RTSP/1.0\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/0.9", "GET / HTTP/0.9\r\n", status: 505, "not HTTP/0"),
        RefusedRequest("HTTP/2.0", "GET / HTTP/2.0\r\n", status: 505, "not HTTP/2"),
        RefusedRequest("HTTP/3", "GET / HTTP/3\r\n", status: 505, "not HTTP/3"),
        RefusedRequest("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505, "not HTTP/2"),
        RefusedRequest("HTTP/1", "GET / HTTP/1\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/1.", "GET / HTTP/1.\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/11.1", "GET / HTTP/11.1\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/1.10", "GET / HTTP/1.10\r\n", "must end with HTTP/1.1"),
        RefusedRequest("HTTP/1,1", "GET / HTTP/1,1\r\n", "found ','"),
        RefusedRequest("HTTP/x.1", "GET / HTTP/x.1\r\n", "found 'x'"),
        RefusedRequest("a space after the version", "GET / HTTP/1.1 \r\n", "found byte 0x20"),
        RefusedRequest("more after the version", "GET / HTTP/1.1 a\r\n", "found byte 0x20"),
        RefusedRequest("a bare line feed", "GET / HTTP/1.1\n", "a line feed without a carriage return"),
        RefusedRequest("a bare carriage return", "GET / HTTP/1.1\rHost: a\r\n", "without a line feed"),
        RefusedRequest("two carriage returns", "GET / HTTP/1.1\r\r\n", "without a line feed"),
    ]

    @Test("A bad request line is refused at once, however it is divided", arguments: methods + targets + versions)
    func refused(_ refused: RefusedRequest) throws {
        try refused.check()
    }
}
