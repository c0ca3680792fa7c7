import Platform
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of parsing addresses, and of addresses that need no resolver.
@Suite(.ownThread)
struct ServerAddressTests {
    /// The field Host does not contain the zone of an IPv6 address, such as `%eth0`.
    @Test(
        "An address gives the kind and the field Host of the request, and its text parses to the same address",
        arguments: [
            ("http://127.0.0.1:7070", .tcp(host: "127.0.0.1", port: 7070), "127.0.0.1:7070"),
            ("http://127.0.0.1", .tcp(host: "127.0.0.1", port: 7070), "127.0.0.1:7070"),
            ("HTTP://settings.local:80/", .tcp(host: "settings.local", port: 80), "settings.local:80"),
            ("http://[::1]:1", .tcp(host: "::1", port: 1), "[::1]:1"),
            ("http://[::1]", .tcp(host: "::1", port: 7070), "[::1]:7070"),
            ("http://[fe80::1%eth0]:65535", .tcp(host: "fe80::1%eth0", port: 65535), "[fe80::1]:65535"),
            ("https://settings.local", .https(host: "settings.local", port: 443), "settings.local:443"),
            ("HTTPS://[::1]:8443/", .https(host: "::1", port: 8443), "[::1]:8443"),
            ("unix:/run/settingsd.sock", .unix(path: "/run/settingsd.sock"), "localhost"),
            ("unix:///run/settingsd.sock", .unix(path: "/run/settingsd.sock"), "localhost"),
            ("unix:/run/with space:7070", .unix(path: "/run/with space:7070"), "localhost"),
        ] as [(String, ServerAddress.Kind, String)])
    func validAddress(
        text: String, kind: ServerAddress.Kind, hostField: String
    ) throws {
        let address = try ServerAddress(text)
        #expect(address.kind == kind)
        #expect(address.hostField == hostField)
        #expect(try ServerAddress(address.description) == address)
    }

    /// The path `/` is refused with the same reason as a relative path, because `/` cannot be the path of a socket.
    @Test(
        "A malformed address is refused with the reason",
        arguments: [
            ("", "must begin with http://, https:// or unix:"), ("127.0.0.1:7070", "must begin with"),
            ("localhost:7070", "must begin with"), ("https://[fe80::1%eth0]", "a certificate cannot name"),
            ("https://host/v1", "remove the path"), ("https://", "the host is missing"),
            ("ftp://127.0.0.1", "the scheme ftp: is not supported"), ("http:127.0.0.1", "must begin with"),
            ("http://", "the host is missing"), ("http://:7070", "the host is missing"),
            ("http://[]:1", "the host is missing"),
            ("http://host:", "the port must be a number"), ("http://host:0", "the port must be a number"),
            ("http://host:65536", "the port must be a number"), ("http://host:+1", "the port must be a number"),
            ("http://::1:7070", "must be in brackets"), ("http://a[b]:1", "must be in brackets"),
            ("http://me@host:1", "a user name or a password"), ("http://host:1/v1", "remove the path"),
            ("http://host?x", "remove the path"), ("http://a b", "printable ASCII"),
            ("http://a\r\nX", "printable ASCII"),
            ("http://höst", "printable ASCII"), ("unix:", "the path must begin with /"),
            ("unix:run/socket", "the path must begin with /"),
            ("unix:/", "the path must begin with /"), ("unix:/a\0b", "the path must begin with /"),
            ("unix:/" + String(repeating: "x", count: 107), "the path has 108 bytes, more than 107"),
        ])
    func malformedAddress(text: String, reason: String) {
        let error = #expect(throws: ServerAddressError.self) { try ServerAddress(text) }
        #expect(error?.reason.contains(reason) ?? false, "\(error?.description ?? "")")
        #expect(error?.description.hasPrefix("\(text): ") ?? false)
    }

    @Test("Numeric addresses, localhost and paths of sockets need no resolver") func addressesWithoutLookup()
        throws
    {
        for (text, count) in [
            ("http://127.0.0.1", 1), ("http://[::1]", 1), ("http://localhost", 2), ("unix:/run/socket", 1),
        ] {
            #expect(HostAddresses.fixed(of: try ServerAddress(text))?.count == count, "\(text)")
        }
        #expect(HostAddresses.fixed(of: try ServerAddress("http://settings.invalid")) == nil)
    }

    @Test("An environment variable determines the address of the daemon; without a value, the default address is used")
    func addressOfEnvironment()
        throws
    {
        #expect(try ServerAddress.from(variable: nil).description == "http://127.0.0.1:7070")
        #expect(try ServerAddress.from(variable: "") == .usual)
        #expect(try ServerAddress.from(variable: "unix:/a").description == "unix:/a")
        #expect(throws: ServerAddressError.self) { try ServerAddress.from(variable: "127.0.0.1") }
    }
}
