import HTTPWire
import Testing

/// Requests that the parser accepts. The parser stores only the fields in `FieldName`, so the property `fields` of a
/// parsed request lacks unknown fields.
struct AcceptedRequestTests {
    struct Accepted: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        /// Returns true if the parsed request is correct.
        let isExpected: @Sendable (ParsedRequest) -> Bool

        init(_ name: String, _ text: String, _ isExpected: @escaping @Sendable (ParsedRequest) -> Bool) {
            testDescription = name
            self.text = text
            self.isExpected = isExpected
        }
    }

    private static func get(_ target: String, _ fields: String = "", version: String = "1.1") -> String {
        "GET \(target) HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n"
    }

    static let lines: [Accepted] = [
        Accepted("only the field Host", get("/")) { $0.method == .get && $0.path == "/" && $0.query == nil },
        Accepted("an empty line before the request", "\r\n" + get("/a")) { $0.path == "/a" && $0.target == "/a" },
        Accepted("a query", get("/a/b?c=d&e")) { $0.path == "/a/b" && $0.query == "c=d&e" },
        Accepted("an empty query", get("/a?")) { $0.path == "/a" && $0.query == "" },
        Accepted("question marks in the query", get("/a?b?c?")) { $0.path == "/a" && $0.query == "b?c?" },
        Accepted("a colon in the path", get("/http://b")) { $0.path == "/http://b" && $0.host == "a" },
        Accepted("two slashes", get("//b/")) { $0.path == "//b/" && $0.host == "a" },
        Accepted("bytes that RFC 3986 requires to be encoded", get("/<\"{|}\\^`>")) { $0.path == "/<\"{|}\\^`>" },
        Accepted("text beyond ASCII", get("/é€😀?ü")) { $0.path == "/é€😀" && $0.query == "ü" },
        Accepted("a malformed escape, which percent-decoding refuses later", get("/%zz")) { $0.path == "/%zz" },
        Accepted("HTTP/1.0", get("/", version: "1.0")) { !$0.isHTTP11 && !$0.keepsAlive && $0.host == "a" },
        Accepted("HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n") { !$0.isHTTP11 && $0.host == nil },
        Accepted("HTTP/1.2, which is treated as HTTP/1.1", get("/", version: "1.2")) { $0.isHTTP11 && $0.keepsAlive },
        Accepted("a method of 32 bytes", String(repeating: "A", count: 32) + " / HTTP/1.1\r\nHost: a\r\n\r\n") {
            $0.method == .other && $0.methodName.utf8.count == 32
        },
        Accepted("a method with a hyphen", "M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n") { $0.methodName == "M-SEARCH" },
        Accepted("OPTIONS for the whole server", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n") {
            $0.method == .options && $0.hasAsteriskForm && $0.path == "*"
        },
        Accepted("OPTIONS for a path", "OPTIONS /* HTTP/1.1\r\nHost: a\r\n\r\n") { !$0.hasAsteriskForm },
    ]

    static let methods: [Accepted] = [
        ("GET", HTTPWire.Method.get), ("HEAD", .head), ("PUT", .put), ("POST", .post), ("DELETE", .delete),
        ("PATCH", .patch), ("OPTIONS", .options), ("TRACE", .other), ("PAT", .other), ("HEAP", .other),
        ("PATCHES", .other), ("PUTS", .other), ("DELETF", .other), ("OPTION", .other), ("PITCH", .other),
    ].map { name, method in
        Accepted("the method \(name)", "\(name) / HTTP/1.1\r\nHost: a\r\n\r\n") {
            $0.method == method && $0.methodName == name && $0.framing == .none && $0.body.isEmpty
        }
    }

    static let hosts: [Accepted] = [
        Accepted("a port", "GET / HTTP/1.1\r\nHost: localhost:7070\r\n\r\n") {
            $0.host == "localhost" && $0.port == "7070"
        },
        Accepted("an empty port", "GET / HTTP/1.1\r\nHost: a:\r\n\r\n") { $0.host == "a" && ($0.port ?? "").isEmpty },
        Accepted("the highest port", "GET / HTTP/1.1\r\nHost: a:65535\r\n\r\n") { $0.port == "65535" },
        Accepted("an IPv4 address", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") {
            $0.host == "127.0.0.1" && $0.port == nil
        },
        Accepted("an IPv6 address with a port", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n") {
            $0.host == "[::1]" && $0.port == "80"
        },
        Accepted("an IPv6 address without a port", "GET / HTTP/1.1\r\nHost: [::ffff:1.2.3.4]\r\n\r\n") {
            $0.host == "[::ffff:1.2.3.4]" && $0.port == nil
        },
        Accepted("an empty Host", "GET / HTTP/1.1\r\nHost: \r\n\r\n") { $0.host == "" && $0.port == nil },
        Accepted("a URI as target", get("http://b:81/c?d")) {
            $0.host == "b" && $0.port == "81" && $0.path == "/c" && $0.query == "d" && $0.fields[.host] == "a"
                && $0.target == "http://b:81/c?d"
        },
        Accepted("a URI with another scheme in capitals", get("HTTPS://b/")) { $0.host == "b" && $0.path == "/" },
        Accepted("a URI without path", get("http://b")) { $0.host == "b" && $0.path == "/" && $0.query == nil },
        Accepted("a URI without path, with query", get("https://b?c/d")) { $0.path == "/" && $0.query == "c/d" },
        Accepted(
            "a URI without port, whose host replaces host and port of the field Host",
            "GET http://b/ HTTP/1.1\r\nHost: a:80\r\n\r\n"
        ) {
            $0.host == "b" && $0.port == nil
        },
        Accepted("a URI in HTTP/1.0", "GET http://b/c HTTP/1.0\r\n\r\n") { $0.host == "b" && $0.path == "/c" },
    ]

    static let fields: [Accepted] = [
        Accepted("names in any case", get("/", "aCCEPT: b\r\nCONTENT-TYPE: c\r\nif-match: d\r\n")) {
            $0.fields == [.host: "a", .accept: "b", .contentType: "c", .ifMatch: "d"]
        },
        Accepted("names that resemble known names", get("/", "Hosts: b\r\nAccepd: c\r\nExpecT-: d\r\nIf_Match: e\r\n"))
        {
            $0.fields == [.host: "a"]
        },
        Accepted("blanks around values", get("/", "Accept: \t b c \t \r\nOrigin:d\r\nIf-Match:\r\n")) {
            $0.fields[.accept] == "b c" && $0.fields[.origin] == "d" && $0.fields[.ifMatch] == ""
        },
        Accepted("a tab and text beyond ASCII in a value", get("/", "Origin: a\tbé€\r\n")) {
            $0.fields[.origin] == "a\tbé€"
        },
        Accepted("two Accept fields, of which the first is used", get("/", "Accept: b\r\nAccept: c\r\n")) {
            $0.fields[.accept] == "b"
        },
        Accepted("unknown fields that occur twice", get("/", "X: b\r\nX: c\r\nCookie: d\r\nCookie: e\r\n")) {
            $0.fields == [.host: "a"]
        },
        Accepted("a name of all allowed symbols", get("/", "!#$%&'*+-.^_`|~: b\r\n")) { $0.fields == [.host: "a"] },
        Accepted("colons in a value", get("/", "Origin: http://b:80\r\n")) { $0.fields[.origin] == "http://b:80" },
    ]

    /// The fields that accept any value.
    static let everyField: [Accepted] = FieldName.allCases
        .filter { ![.host, .contentLength, .transferEncoding, .expect].contains($0) }
        .map { name in
            Accepted("the field \(name.text)", get("/", "\(name.text): v\r\n")) {
                $0.fields == [.host: "a", name: "v"]
            }
        }

    static let connections: [Accepted] = [
        Accepted("close", get("/", "Connection: close\r\n")) { !$0.keepsAlive },
        Accepted("CLOSE in a list", get("/", "Connection: a, CLOSE ,b\r\n")) { !$0.keepsAlive },
        Accepted("close on a second line", get("/", "Connection: a\r\nConnection: close\r\n")) { !$0.keepsAlive },
        Accepted("close before keep-alive", get("/", "Connection: close, keep-alive\r\n")) { !$0.keepsAlive },
        Accepted("close after keep-alive", get("/", "Connection: keep-alive,close\r\n")) { !$0.keepsAlive },
        Accepted("words that contain close", get("/", "Connection: closed, xclose, clos e\r\n")) { $0.keepsAlive },
        Accepted("keep-alive", get("/", "Connection: keep-alive\r\n")) { $0.keepsAlive },
        Accepted("keep-alive in HTTP/1.0", get("/", "Connection: Keep-Alive\r\n", version: "1.0")) { $0.keepsAlive },
        Accepted("keep-alive and close in HTTP/1.0", get("/", "Connection: Keep-Alive, close\r\n", version: "1.0")) {
            !$0.keepsAlive
        },
        Accepted("empty elements", get("/", "Connection: ,, ,close,\r\n")) { !$0.keepsAlive },
        Accepted("an empty Connection", get("/", "Connection:\r\n")) { $0.keepsAlive },
    ]

    @Test(
        "A valid request is parsed correctly, with any division of its bytes",
        arguments: lines + methods + hosts + fields + everyField + connections)
    func parsed(_ accepted: Accepted) throws {
        let bytes = Array(accepted.text.utf8)
        let request = try #require(ParseOutcome.forEveryDivision(of: bytes)?.request)
        #expect(accepted.isExpected(request), "\(request)")
        #expect(request.consumed == bytes.count)
    }
}

struct FieldLinesTests {
    /// The lines of a head, the name of a field, and the values that the lines give the field.
    struct Case: Sendable, CustomTestStringConvertible {
        let lines: [String]
        let name: FieldName
        let values: [String]

        init(_ lines: [String], _ name: FieldName, _ values: [String]) {
            self.lines = lines
            self.name = name
            self.values = values
        }

        var testDescription: String { "\(lines)" }
    }

    static let cases = [
        Case(["If-Match: a"], .ifMatch, ["a"]),
        Case(["If-Match: a", "IF-MATCH:b ", "if-match: \tc, d"], .ifMatch, ["a", "b", "c, d"]),
        Case(
            ["If-None-Match: a", "X: b", "If-Match: c", "If-None-Match:", "If-None-Match: d"], .ifNoneMatch,
            ["a", "", "d"]),
        Case(["If-None-Match: a", "If-None-Match: d"], .ifMatch, []),
        Case(
            ["If-Match: a", "X: If-Match: b", "If-Match-: c", "Accept: If-Match", "If-Match: d:e"], .ifMatch,
            ["a", "d:e"]),
        Case(["If-Match: é", "If-Match: é"], .ifMatch, ["é", "é"]),
        Case(["If-Match:", "If-Match: "], .ifMatch, ["", ""]),
        Case(["Accept: a", "Accept: b"], .accept, ["a", "b"]),
    ]

    @Test(
        "All values of a field are found in their order, and a reset parser forgets repeated fields", arguments: cases)
    func values(of example: Case) throws {
        let text =
            "PUT / HTTP/1.1\r\nHost: a\r\n" + example.lines.map { $0 + "\r\n" }.joined() + "Content-Length: 15\r\n\r\n"
        // The body of 15 bytes looks like a field.
        let bytes = Array((text + "If-Match: body\n").utf8)
        var parser = MessageParser()
        #expect(try parser.parse(bytes.span))
        let head = try #require(parser.head)
        let values = head.values(of: example.name, in: bytes.span)
        #expect(values.map { String(decoding: bytes[$0], as: UTF8.self) } == example.values)
        #expect(head.isRepeated(example.name) == (example.values.count > 1))
        parser.reset()
        let withoutRepetition = Array("GET / HTTP/1.1\r\nHost: a\r\nIf-Match: a\r\nAccept: b\r\n\r\n".utf8)
        #expect(try parser.parse(withoutRepetition.span))
        #expect(parser.head?.isRepeated(example.name) == false)
    }
}

/// Tests of writing requests as bytes.
struct RequestWritingTests {
    @Test
    func `Segments and values are percent-encoded, byte by byte`() {
        let target = RequestTarget("v1", "keys", "a/b c?é%~").with("prefix", "x&y=z+")
            .with(flag: "dryRun", true).with(flag: "raw", false).with("after", nil).with("empty", "")
        #expect(target.text == "/v1/keys/a%2Fb%20c%3F%C3%A9%25~?prefix=x%26y%3Dz%2B&dryRun&empty=")
    }

    @Test
    func `Only a write has a Content-Length, and line ends in a field value become spaces`() {
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

    @Test
    func `Only reads, and writes with an idempotency key, are repeatable`() {
        var write = Request(.post, RequestTarget("x"))
        #expect(Request(.get, RequestTarget("x")).isRepeatable && !write.isRepeatable)
        write.fields.append("Idempotency-Key", text: "k")
        #expect(write.isRepeatable)
    }
}
