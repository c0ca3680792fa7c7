import HTTPWire
import Platform
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsServer

@Suite(.ownThread)
struct HostPolicyTests {
    static let policy = HostPolicy(hosts: ["Settings.example"], origins: ["https://Console.example:8443"])

    static let hosts: [(host: String, isAdmitted: Bool)] = [
        ("localhost", true), ("LocalHost", true), ("settings.EXAMPLE", true), ("127.0.0.1", true), ("0.0.0.0", true),
        ("203.0.113.9", true), ("[::1]", true), ("[2001:DB8::1]", true), ("[::ffff:127.0.0.1]", true), ("", false),
        ("localhost.", false), ("settings.example.", false), ("a.settings.example", false),
        ("settings.example.evil", false),
        ("127.0.0.1.nip.io", false), ("127.1", false), ("2130706433", false), ("0x7f.0.0.1", false),
        ("256.0.0.1", false),
        ("::1", false), ("[]", false), ("[::1", false), ("[localhost]", false), ("localhost.localdomain", false),
    ]

    @Test("Addresses, localhost and configured names are admitted, nothing else", arguments: hosts)
    func admission(host: String, isAdmitted: Bool) {
        #expect(Self.policy.admits(host) == isAdmitted)
    }

    static let origins: [(origin: String, host: String?, port: String?, isAdmitted: Bool)] = [
        ("http://localhost:7070", "localhost", "7070", true), ("HTTP://LOCALHOST:7070", "localhost", "7070", true),
        ("https://settings.example", "settings.example", nil, true), ("http://[::1]:7070", "[::1]", "7070", true),
        ("https://console.example:8443", "localhost", "7070", true), ("http://localhost", "localhost", "7070", false),
        ("http://localhost:3000", "localhost", "7070", false), ("http://127.0.0.1:7070", "localhost", "7070", false),
        ("https://console.example", "localhost", nil, false), ("http://console.example:8443", "localhost", nil, false),
        ("null", "localhost", nil, false), ("", "localhost", nil, false), ("file://", "localhost", nil, false),
        ("localhost", "localhost", nil, false), ("ftp://localhost", "localhost", nil, false),
        ("http://localhost", nil, nil, false), ("https://console.example:8443", nil, nil, true),
    ]

    @Test("A page may use the daemon that it comes from, or one that names it", arguments: origins)
    func pages(origin: String, host: String?, port: String?, isAdmitted: Bool) {
        let problem = Self.problem { () throws(Problem) in
            try Self.policy.check(host: host, port: port, origin: origin)
        }
        #expect(problem?.code == (isAdmitted ? nil : .forbidden))
    }

    @Test("a host that was let in over a Unix domain socket is refused over TCP")
    func afterUnix() throws {
        var accepted = HostCheck(Self.policy)
        #expect(try Self.problem("Host: evil.example\r\n", &accepted, from: .unix(path: "")) == nil)
        #expect(try Self.problem("Host: evil.example\r\n", &accepted, from: remoteAddress()) == .misdirected)
    }

    @Test("a host that was let in lets in no other host, and no page")
    func remembered() throws {
        var accepted = HostCheck(Self.policy)
        let requests: [(text: String, code: ErrorCode?)] = [
            ("Host: \r\n", .misdirected), ("Host: localhost\r\n", nil), ("Host: localhost\r\n", nil),
            ("Host: localhosx\r\n", .misdirected), ("Host: \r\n", .misdirected),
            ("Host: localhost\r\nOrigin: http://evil.example\r\n", .forbidden), ("Host: localhost:1\r\n", nil),
        ]
        for (fields, code) in requests {
            #expect(try Self.problem(fields, &accepted, from: remoteAddress()) == code, "\(fields)")
        }
    }

    /// Returns the refusal of a request with these fields.
    private static func problem(
        _ fields: String, _ accepted: inout HostCheck, from peer: SocketAddress
    ) throws -> ErrorCode? {
        let bytes = Array("GET / HTTP/1.1\r\n\(fields)\r\n".utf8)
        var parser = MessageParser(limits: MessageLimits())
        _ = try parser.parse(bytes.span)
        let head = try #require(parser.head)
        return problem { () throws(Problem) in try accepted.check(head, bytes.span, from: peer) }?.code
    }

    private func remoteAddress() throws -> SocketAddress {
        try #require(try SocketAddress.resolve("192.0.2.1", port: 80, isNumeric: true).first)
    }

    private static func problem(_ body: () throws(Problem) -> Void) -> Problem? {
        do {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
