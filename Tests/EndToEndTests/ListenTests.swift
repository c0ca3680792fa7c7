import Platform
import SettingsServer
import TestSupport
import Testing

@Suite(.ownThread)
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

    static let requests: [(request: Request, status: Int, tcpStatus: Int)] = [
        (Request("GET /v1", "Host: localhost"), 200, 200), (Request("GET /v1", "Host: settingsd"), 200, 421),
        (Request("GET /v1", "Host: any.example:80"), 200, 421), (Request("GET /v1", "Host: "), 200, 421),
        (Request("PUT app/keys/a 1", "Host: any.example"), 201, 421),
        (Request("GET /v1", "Host: a b"), 400, 400), (Request("GET /v1", "Host"), 400, 400),
        (Request("GET /v1", "Host: any.example", "Origin: http://any.example"), 421, 421),
        (Request("GET /v1", "Host: localhost", "Origin: http://any.example"), 403, 403),
        (Request("GET /v1", "Host: localhost", "Origin: http://localhost"), 200, 200),
        // Refused before its body has come: who may not ask at all is told that.
        (Request("PUT app/keys/a 1", "Host: any.example", "Content-Length: 99999999999"), 413, 421),
    ]

    @Test("over a Unix domain socket any well-formed host will do, unless a page asks", arguments: requests)
    func hosts(request: Request, status: Int, tcpStatus: Int) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/socket"
        let daemon = try TestDaemon { $0.listen = [.tcp(host: "127.0.0.1", port: 0), .unix(path: path)] }
        #expect(daemon.addresses.last == .unix(path: path))
        let client = try RawClient(.unix(path))
        try client.send(request.bytes)
        #expect(try client.readResponse().status == status)
        #expect(try daemon.send(request).status == tcpStatus)
    }
}
