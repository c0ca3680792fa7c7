import Foundation
import HTTPServer
import Platform
import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

/// The address of a client behind a proxy, which the proxy sends in `X-Forwarded-For`. The audit file has the address.
@Suite(.ownThread)
struct ForwardedTests {
    /// The trusted proxies, the fields of a request from 127.0.0.1, and the expected address in the audit file. The
    /// daemon reads the addresses from the last to the first, up to an address that is no trusted proxy, and ignores a
    /// malformed address with all addresses before it. If all addresses are trusted proxies, the first address counts.
    static let rows: [(trusted: [String], fields: [String], peer: String)] = [
        ([], ["X-Forwarded-For: 192.0.2.1"], "127.0.0.1"),
        (["10.0.0.0/8"], ["X-Forwarded-For: 192.0.2.1"], "127.0.0.1"),
        (["127.0.0.1"], ["X-Forwarded-For: 192.0.2.1"], "192.0.2.1"), (["127.0.0.0/8"], [], "127.0.0.1"),
        (["127.0.0.1"], ["X-Forwarded-For: 203.0.113.9, 192.0.2.1"], "192.0.2.1"),
        (["127.0.0.1", "192.0.2.0/24"], ["X-Forwarded-For: 203.0.113.9, 192.0.2.1"], "203.0.113.9"),
        (
            ["127.0.0.1", "192.0.2.0/24"], ["X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 192.0.2.1"], "203.0.113.9"
        ),
        (["127.0.0.1"], ["X-Forwarded-For: 203.0.113.9, nonsense"], "127.0.0.1"),
        (["127.0.0.1"], ["X-Forwarded-For: 2001:db8::7"], "2001:db8::7"),
        (["0.0.0.0/0"], ["X-Forwarded-For: 192.0.2.1"], "192.0.2.1"),
    ]

    @Test("X-Forwarded-For is used only if the peer is a trusted proxy", arguments: rows)
    func client(trusted: [String], fields: [String], peer: String) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/audit.jsonl"
        let configured = try directory.file(
            "c.json", #"{"trustedProxies":\#(JSONValue.array(trusted.map { .string($0) })),"auditFile":"\#(path)"}"#)
        var failure: (any Error)?
        let daemon = try TestDaemon { configuration in
            do { try configuration.apply(fileAt: configured) } catch { failure = error }
            configuration.listen = [.tcp(host: "127.0.0.1", port: 0)]
        }
        #expect(failure == nil)
        var request: Request = "PUT app/keys/a 1"
        request.fields = fields
        try daemon.sendOK(request)
        daemon.stop()
        let line = try JSONValue(parsing: try String(contentsOfFile: path, encoding: .utf8))
        #expect(line["peer"]?.string == peer)
    }

    @Test("The limit on watchers applies to the clients behind a trusted proxy, not to the proxy")
    func limits() throws {
        let daemon = try TestDaemon {
            $0.watchers.perCaller = 1
            $0.proxies.ranges = [AddressRange("127.0.0.1")].compactMap(\.self)
        }
        try daemon.sendOK("PUT app/keys/a 1")
        func request(_ client: String) throws -> Request {
            Request("GET app/observe?since=\(try daemon.cursor())&wait=300", "X-Forwarded-For: \(client)")
        }
        let first = try WaitingClient(daemon, request("192.0.2.1"))
        let second = try WaitingClient(daemon, request("192.0.2.2"))
        #expect(try daemon.send(request("192.0.2.1")).status == 429)
        withExtendedLifetime((first, second)) {}
    }
}
