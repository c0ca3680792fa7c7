import Platform
import TestSupport
import Testing

@Suite(.ownThread)
struct SocketAddressTests {
    private func address(_ host: String, port: UInt16 = 80) throws -> SocketAddress {
        try #require(try SocketAddress.resolve(host, port: port, isNumeric: true).first)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1:80"), ("::ffff:192.0.2.1", "[::ffff:192.0.2.1]:80"),
        ("2001:db8::1", "[2001:db8::1]:80"), ("0:0:0:0:0:0:0:1", "[::1]:80"),
    ])
    func `A numeric address is parsed and written in its canonical form`(_ host: String, _ text: String) throws {
        #expect(try address(host).description == text)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
        ("192.0.2.1", "::ffff:192.0.2.1", true),
        ("2001:db8::1", "2001:db8::1", true), ("2001:db8::1", "2001:db8::2", false),
        ("::192.0.2.1", "192.0.2.1", false), ("::fffe:192.0.2.1", "192.0.2.1", false),
        ("1::ffff:192.0.2.1", "192.0.2.1", false),
    ])
    func `The property unmapped turns an IPv4-mapped address into its IPv4 address, and changes no other address`(
        _ one: String, _ other: String, _ areSame: Bool
    ) throws {
        func unmapped(_ host: String) throws -> IPAddress? {
            if case .tcp(let address, _) = try address(host) { address.unmapped } else { nil }
        }
        #expect(try (unmapped(one) == unmapped(other)) == areSame)
        #expect(try Set([unmapped(one), unmapped(other)]).count == (areSame ? 1 : 2))
    }

    @Test
    func `Addresses with different ports or paths differ`() throws {
        let one = try address("192.0.2.1")
        #expect(one != one.with(port: 81) && one == one.with(port: 81).with(port: 80))
        #expect(SocketAddress.unix(path: "/a") != .unix(path: "/b"))
        #expect(SocketAddress.unix(path: "/a").with(port: 80) == .unix(path: "/a"))
    }

    @Test(arguments: ["no-such-host.invalid", "localhost", "", "1.2.3.4.5"])
    func `A text that is not a numeric address is refused with the error of the resolver`(_ host: String) {
        let error = #expect(throws: ResolveError.self) {
            try SocketAddress.resolve(host, port: 80, isNumeric: true)
        }
        #expect(error?.host == host && error?.reason.isEmpty == false)
    }
}

struct AddressRangeTests {
    static let rows: [(range: String, inside: [String], outside: [String])] = [
        ("192.0.2.1", ["192.0.2.1", "::ffff:192.0.2.1"], ["192.0.2.2", "::1"]),
        ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["11.0.0.0", "9.255.255.255"]),
        ("192.0.2.64/26", ["192.0.2.64", "192.0.2.127"], ["192.0.2.128", "192.0.2.63"]),
        ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::", "2001:db8::1"]),
        ("2001:db8::/33", ["2001:db8::1", "2001:db8:7fff::"], ["2001:db8:8000::", "2001:db9::"]),
        ("::1", ["::1"], ["::", "127.0.0.1"]), ("2001:db8::8/127", ["2001:db8::9"], ["2001:db8::a"]),
    ]

    @Test("A range contains the addresses with its prefix", arguments: rows)
    func contains(text: String, inside: [String], outside: [String]) throws {
        let range = try #require(AddressRange(text))
        #expect(range.description == text)
        for address in inside { #expect(range.contains(try #require(IPAddress(address))), "\(address)") }
        for address in outside { #expect(!range.contains(try #require(IPAddress(address))), "\(address)") }
    }

    @Test(
        "An invalid range is refused",
        arguments: ["", "/8", "10/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "localhost", "[::1]"])
    func malformed(text: String) {
        #expect(AddressRange(text) == nil)
    }
}
