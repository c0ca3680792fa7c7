import Glibc
import TestSupport
import Testing

@testable import Platform

struct PeerAddressTests {
    private func peer(_ text: String, _ port: UInt16) -> PeerAddress {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { raw in
            if text.contains(":") {
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_port = port.bigEndian
                #expect(inet_pton(AF_INET6, text, &address.sin6_addr) == 1)
                raw.storeBytes(of: address, as: sockaddr_in6.self)
            } else {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = port.bigEndian
                #expect(inet_pton(AF_INET, text, &address.sin_addr) == 1)
                raw.storeBytes(of: address, as: sockaddr_in.self)
            }
        }
        return PeerAddress(storage)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1", "::ffff:192.0.2.1", true),
        ("2001:db8::1", "2001:db8::1", true), ("2001:db8::1", "2001:db8::2", false),
        ("::192.0.2.1", "192.0.2.1", false), ("::fffe:192.0.2.1", "192.0.2.1", false),
        ("1::ffff:192.0.2.1", "192.0.2.1", false),
    ])
    func `Peers are the same by their whole addresses, whatever their ports`(one: String, other: String, same: Bool) {
        #expect(peer(one, 1000) != peer(other, 2000))
        #expect((peer(one, 1000).withoutPort == peer(other, 2000).withoutPort) == same)
        #expect((Set([peer(one, 1000).withoutPort, peer(other, 2000).withoutPort]).count == 1) == same)
        #expect(peer(one, 1000).withoutPort != PeerAddress.none.withoutPort)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1:80"), ("::ffff:192.0.2.1", "192.0.2.1:80"), ("2001:db8::1", "[2001:db8::1]:80"),
    ])
    func `A peer is written as usual`(text: String, written: String) {
        #expect(peer(text, 80).description == written)
    }
}
