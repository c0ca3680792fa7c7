import Glibc
import Platform
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.ownThread)
struct ListenAddressTests {
    @Test(arguments: [
        ("127.0.0.1:7070", ListenAddress.tcp(host: "127.0.0.1", port: 7070)),
        ("0.0.0.0:0", .tcp(host: "0.0.0.0", port: 0)), ("[::1]:65535", .tcp(host: "::1", port: 65535)),
        ("localhost:7070", .tcp(host: "localhost", port: 7070)), ("unix:/run/s", .unix(path: "/run/s")),
        ("unix:/", .unix(path: "/")), ("unix:/a b:1", .unix(path: "/a b:1")),
        ("unix:/" + String(repeating: "x", count: 106), .unix(path: "/" + String(repeating: "x", count: 106))),
    ])
    func `An address is parsed and written unchanged`(text: String, address: ListenAddress) throws {
        #expect(try ListenAddress(text) == address)
        #expect(address.description == text)
    }

    @Test(arguments: [
        ("7070", "host is missing"), ("localhost", "port is missing"), ("localhost:", "a number"),
        ("localhost:65536", "65535"), ("localhost:http", "a number"), ("localhost:-1", "a number"),
        (":7070", "host is missing"), ("[]:7070", "host is missing"), ("::1:7070", "brackets"),
        ("unix:", "begin with /"), ("unix:7070", "begin with /"), ("unix:run/s", "begin with /"),
        ("unix:/a\0b", "begin with /"),
        ("unix:/" + String(repeating: "x", count: 107), "108 bytes, more than 107"),
    ])
    func `An invalid address is refused with the reason`(text: String, reason: String) {
        let error = #expect(throws: ListenError.self) { try ListenAddress(text) }
        #expect(error?.description.contains(reason) == true)
        #expect(error?.description.contains(text) == true)
    }

    @Test
    func `A host name is resolved to its addresses`() throws {
        let listeners = try Listener.open(.tcp(host: "localhost", port: 0))
        let port = try #require(listeners.first).address.port
        let addresses = Set(listeners.map { ListenAddress($0.address) })
        #expect(addresses.contains(.tcp(host: "127.0.0.1", port: port)))
        #expect(addresses.isSubset(of: [.tcp(host: "127.0.0.1", port: port), .tcp(host: "::1", port: port)]))
        #expect(addresses.count == listeners.count)
    }

    @Test(.enabled(if: hasIPv6))
    func `For a host name with both address families, the listeners of both families have one port`() throws {
        let listeners = try Listener.open(Self.bothFamilies(port: 0))
        let port = listeners[0].address.port
        #expect(
            listeners.map { ListenAddress($0.address) } == [
                .tcp(host: "127.0.0.1", port: port), .tcp(host: "::1", port: port),
            ])
        _ = try RawClient(.ipv4(port))
        _ = try RawClient(.ipv6(port))
    }

    @Test(.enabled(if: hasIPv6))
    func `A port that is in use in one family is reported, and the port of the other family is released`() throws {
        let taken = try #require(try Listener.open(.tcp(host: "::1", port: 0)).first)
        let port = taken.address.port
        let error = #expect(throws: ListenError.self) { try Listener.open(Self.bothFamilies(port: port)) }
        // Error 98 is EADDRINUSE.
        #expect(error?.description.contains("[::1]:\(port)") == true && error?.description.contains("error 98") == true)
        #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    }

    @Test(
        .enabled(if: hasIPv6),
        arguments: [(failures: 15, isOpen: true), (failures: 16, isOpen: false)])
    func `With port 0, up to 16 ports are tried until a port is free in both families`(
        failures: Int, isOpen: Bool
    ) throws {
        var remainingFailures = failures
        let opened = Result {
            try Listener.open(Self.bothFamilies(port: 0)) { address throws(Listener.Failure) in
                if !address.isIPv4, remainingFailures > 0 {
                    remainingFailures -= 1
                    throw .system(SystemError(call: "bind", code: EADDRINUSE))
                }
                return try Listener(address)
            }
        }
        #expect(remainingFailures == 0)
        #expect((try? opened.get().count) == (isOpen ? 2 : nil))
    }

    @Test(arguments: [EAFNOSUPPORT, EADDRNOTAVAIL])
    func `A missing address family is skipped, unless it is the only family`(code: Int32) throws {
        let bind = { (address: SocketAddress) throws(Listener.Failure) -> Listener in
            guard address.isIPv4 else { throw .system(SystemError(call: "bind", code: code)) }
            return try Listener(address)
        }
        let addresses = try Self.bothFamilies(port: 0)
        #expect(try Listener.open(addresses, bind: bind).count == 1)
        #expect(try Listener.open(addresses.reversed(), bind: bind).count == 1)
        let error = #expect(throws: ListenError.self) { try Listener.open(Array(addresses.dropFirst()), bind: bind) }
        #expect(error?.reason == .refused(.system(SystemError(call: "bind", code: code))))
    }

    @Test
    func `A host name that cannot be resolved is refused`() {
        let error = #expect(throws: ListenError.self) { try Listener.open(.tcp(host: "no-such-host.invalid", port: 0)) }
        #expect(error?.description.contains("not known") == true)
    }

    private static let hasIPv6 = (try? Listener.open(.tcp(host: "::1", port: 0))) != nil

    /// The addresses of `localhost` on a machine where `localhost` has an IPv4 and an IPv6 address.
    private static func bothFamilies(port: UInt16) throws -> [SocketAddress] {
        try Listener.addresses(of: "127.0.0.1", port: port) + Listener.addresses(of: "::1", port: port)
    }
}
