import HTTPWire
import Testing

struct RefusedFieldTests {
    private static func head(_ fields: String) -> String {
        "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n"
    }

    static let lines: [RefusedRequest] = [
        RefusedRequest("no name", head(": a"), "no name before its ':'"),
        RefusedRequest("no colon", head("Accept"), "has no ':'"),
        RefusedRequest("a blank before the colon", head("Accept : a"), "a blank stands in the name"),
        RefusedRequest("a tab before the colon", head("Accept\t: a"), "a blank stands in the name"),
        RefusedRequest("a blank in the name", head("Acc ept: a"), "a blank stands in the name"),
        RefusedRequest("a folded line", head("Accept: a,\r\n b"), "begins with a blank"),
        RefusedRequest("a line folded with a tab", head("Accept: a,\r\n\tb"), "begins with a blank"),
        RefusedRequest("a blank before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", "begins with a blank"),
        RefusedRequest("a bracket in the name", head("Acc(ept: a"), "has the '('"),
        RefusedRequest("NUL in the name", head("Acc\0ept: a"), "has the byte 0x00"),
        RefusedRequest("a byte beyond ASCII in the name", bytes: Array(head("Acc").utf8.dropLast(4)) + [0xE9], "0xE9"),
        RefusedRequest("a bare line feed after a value", head("Accept: a\nB: c"), "a line feed without"),
        RefusedRequest("a bare carriage return in a value", head("Accept: a\rB: c"), "without a line feed"),
        RefusedRequest("a carriage return too many", head("Accept: a\r"), "without a line feed"),
        RefusedRequest("NUL in a value", head("Accept: a\0b"), "has the control byte 0x00"),
        RefusedRequest("a vertical tab in a value", head("Accept: a\u{B}b"), "has the control byte 0x0B"),
        RefusedRequest("DEL in a value", head("Accept: a\u{7F}"), "has the control byte 0x7F"),
        RefusedRequest("ESC in a value that nobody reads", head("X: 0123456789\u{1B}[0m"), "control byte 0x1B"),
        RefusedRequest("a bare line feed as empty line", "GET / HTTP/1.1\r\nHost: a\r\n\n", "no ':'"),
        RefusedRequest("a bare carriage return as empty line", head("A: b\r\n\ra"), "without a line feed"),
    ]

    static let hosts: [RefusedRequest] = [
        RefusedRequest("no Host", "GET / HTTP/1.1\r\nAccept: a\r\n\r\n", "Host is missing"),
        RefusedRequest("no fields", "GET / HTTP/1.1\r\n\r\n", "Host is missing"),
        RefusedRequest("no Host with a URI", "GET http://a/ HTTP/1.1\r\n\r\n", "Host is missing"),
        RefusedRequest("two Hosts", head("Host: b"), "the field Host stands twice"),
        RefusedRequest("the same Host twice", head("host: a"), "the field Host stands twice"),
        RefusedRequest("two Hosts with a URI", "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "stands twice"),
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
            "a bad Host with a URI", "GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n", "must be a host"),
    ]

    private static func host(_ value: String) -> String {
        "GET / HTTP/1.1\r\nHost: \(value)\r\n\r\n"
    }

    static let duplicates: [RefusedRequest] = FieldName.allCases
        .filter { ![.host, .connection, .transferEncoding, .accept, .ifMatch, .ifNoneMatch, .prefer].contains($0) }
        .map { name in
            let value = name == .expect ? "100-continue" : "1"
            return RefusedRequest(
                "\(name.text) twice", head("\(name.text): \(value)\r\n\("\(name.text)".uppercased()): \(value)"),
                "the field \(name.text) stands twice")
        }

    static let others: [RefusedRequest] = [
        RefusedRequest("another expectation", head("Expect: 200-ok"), status: 417, "100-continue"),
        RefusedRequest("an empty expectation", head("Expect:"), status: 417, "100-continue"),
        RefusedRequest("two expectations", head("Expect: 100-continue, 100-continue"), status: 417, "100-continue"),
    ]

    @Test("A bad field is refused, however it is divided", arguments: lines + hosts + duplicates + others)
    func refused(_ refused: RefusedRequest) throws {
        try refused.check()
    }
}
