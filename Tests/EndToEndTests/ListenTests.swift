import SettingsServer
import TestSupport
import Testing

@Suite("Where it listens")
struct ListenTests {
    private static let hasIPv6 = (try? Listener.open(.tcp(host: "::1", port: 0))) != nil

    @Test("of two addresses each answers to the names of both", .enabled(if: hasIPv6))
    func names() throws {
        let daemon = try TestDaemon {
            $0.listen = [
                .tcp(host: "127.0.0.1", port: 0), .tcp(host: "localhost", port: 0), .tcp(host: "::1", port: 0),
            ]
        }
        #expect(daemon.addresses.count >= 3)
        for address in daemon.addresses {
            guard case .tcp(let host, let port) = address else { continue }
            for name in ["localhost", "127.0.0.1", "[::1]"] {
                let client = try RawClient(host == "::1" ? .ipv6(port) : .ipv4(port))
                try client.send(Request("GET /v1", "Host: \(name):\(port)").bytes)
                #expect(try client.readResponse().status == 200, "\(name) on \(address)")
            }
        }
    }
}
