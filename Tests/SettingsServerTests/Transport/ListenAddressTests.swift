import Glibc
import Platform
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.ownThread)
struct ListenAddressTests {
    @Test(
        "An address is read, and written the same",
        arguments: [
            ("127.0.0.1:7070", ListenAddress.tcp(host: "127.0.0.1", port: 7070)),
            ("0.0.0.0:0", .tcp(host: "0.0.0.0", port: 0)), ("[::1]:65535", .tcp(host: "::1", port: 65535)),
            ("localhost:7070", .tcp(host: "localhost", port: 7070)), ("unix:/run/s", .unix(path: "/run/s")),
            ("unix:/", .unix(path: "/")), ("unix:/a b:1", .unix(path: "/a b:1")),
            ("unix:/" + String(repeating: "x", count: 106), .unix(path: "/" + String(repeating: "x", count: 106))),
        ])
    func addressReadWrittenSame(text: String, address: ListenAddress) throws {
        #expect(try ListenAddress(text) == address)
        #expect(address.description == text)
    }

    @Test(
        "What is no address is refused with what is wrong",
        arguments: [
            ("7070", "port is missing"), ("localhost", "port is missing"), ("localhost:", "a number"),
            ("localhost:65536", "65535"), ("localhost:http", "a number"), ("localhost:-1", "a number"),
            (":7070", "host is missing"), ("[]:7070", "host is missing"), ("::1:7070", "brackets"),
            ("unix:", "begin with /"), ("unix:7070", "begin with /"), ("unix:run/s", "begin with /"),
            ("unix:/a\0b", "begin with /"),
            ("unix:/" + String(repeating: "x", count: 107), "108 bytes, more than 107"),
        ])
    func whatNoAddressRefused(text: String, part: String) {
        let error = #expect(throws: ListenError.self) { try ListenAddress(text) }
        #expect(error?.description.contains(part) == true)
        #expect(error?.description.contains(text) == true)
    }

    @Test("Of a name it says the addresses that it stands for") func nameSaysAddressesStands() throws {
        let listeners = try Listener.open(.tcp(host: "localhost", port: 0))
        let port = try #require(listeners.first).address.port
        let places = Set(listeners.map { ListenAddress($0.address) })
        #expect(places.contains(.tcp(host: "127.0.0.1", port: port)))
        #expect(places.isSubset(of: [.tcp(host: "127.0.0.1", port: port), .tcp(host: "::1", port: port)]))
        #expect(places.count == listeners.count)
    }

    @Test("A name that stands for both families is listened to in both, with one port", .enabled(if: hasIPv6))
    func nameStandsBothFamilies() throws {
        let listeners = try Listener.open(Self.bothFamilies(port: 0))
        let port = listeners[0].address.port
        #expect(
            listeners.map { ListenAddress($0.address) } == [
                .tcp(host: "127.0.0.1", port: port), .tcp(host: "::1", port: port),
            ])
        _ = try RawClient(.ipv4(port))
        _ = try RawClient(.ipv6(port))
    }

    @Test("A port that is taken in one family is named, and free again in the other", .enabled(if: hasIPv6))
    func portTakenOneFamily() throws {
        let taken = try #require(try Listener.open(.tcp(host: "::1", port: 0)).first)
        let port = taken.address.port
        let error = #expect(throws: ListenError.self) { try Listener.open(Self.bothFamilies(port: port)) }
        #expect(error?.description == "cannot listen on [::1]:\(port): bind: Address already in use (error 98)")
        #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
    }

    @Test(
        "Where any port will do, one is looked for that is free in both families", .enabled(if: hasIPv6),
        arguments: [(failures: 15, isOpen: true), (failures: 16, isOpen: false)])
    func whereAnyPortWill(failures: Int, isOpen: Bool) throws {
        var left = failures
        let opened = Result {
            try Listener.open(Self.bothFamilies(port: 0)) { address throws(Listener.Failure) in
                if !address.isIPv4, left > 0 {
                    left -= 1
                    throw .system(SystemError(call: "bind", code: EADDRINUSE))
                }
                return try Listener(address)
            }
        }
        #expect(left == 0)
        #expect((try? opened.get().count) == (isOpen ? 2 : nil))
    }

    @Test(
        "A family that the machine does not have is left out, unless there is no other",
        arguments: [EAFNOSUPPORT, EADDRNOTAVAIL])
    func familyMachineDoesNot(code: Int32) throws {
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

    @Test("An address of another machine is refused") func addressNobodyHasRefused() {
        let error = #expect(throws: ListenError.self) { try Listener.open(.tcp(host: "no-such-host.invalid", port: 0)) }
        #expect(error?.description.contains("not known") == true)
    }

    private static let hasIPv6 = (try? Listener.open(.tcp(host: "::1", port: 0))) != nil

    /// The addresses of `localhost` on a machine where it has an IPv4 and an IPv6 address.
    private static func bothFamilies(port: UInt16) throws -> [SocketAddress] {
        try Listener.addresses(of: "127.0.0.1", port: port) + Listener.addresses(of: "::1", port: port)
    }
}
