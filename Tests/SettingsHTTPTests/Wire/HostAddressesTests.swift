import ClientTestSupport
import Dispatch
import Glibc
import HTTPWire
import Platform
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of the lookup of host names, with a resolver that the test controls.
@Suite(.ownThread)
struct HostAddressesTests {
    private let log = EventLog()

    /// A TCP server that closes each connection after one answer, and a connection pool that has to look up the name of
    /// the server.
    private func startServer(
        cacheTime: Duration = .seconds(1000), waitingFor gate: DispatchSemaphore? = nil
    ) throws -> (ScriptedServer, ConnectionPool) {
        let socket = try ListeningSocket(.ipv4(0), backlog: 128)
        let address = try ServerAddress("http://settings.example:\(socket.port)")
        let server = ScriptedServer(on: socket, at: address) { _, peer, _ in
            if peer.readRequest() != nil { peer.send(ScriptedServer.service) }
        }
        let addresses = try #require(HostAddresses.fixed(of: socket.address()))
        let host = HostAddresses(fixed: nil, cacheTime: cacheTime) { [log] in
            log.add("lookup")
            gate?.patientWait()
            return .success(addresses)
        }
        return (server, ConnectionPool(address, host: host))
    }

    @Test("Several blocking and async requests to one host name need one lookup")
    func oneLookup()
        async throws
    {
        let (server, pool) = try startServer()
        let client = DaemonClient(pool, timeout: .seconds(20))
        for _ in 0..<3 {
            #expect(try client.blocking.send(.service).name == "settingsd")
            #expect(try await client.send(.service).name == "settingsd")
        }
        #expect(log.count("lookup") == 1)
        #expect(server.log.count("connection") == 6)
    }

    @Test("A cached lookup expires") func expiredLookup() async throws {
        let (server, pool) = try startServer(cacheTime: .zero)
        let client = DaemonClient(pool, timeout: .seconds(20))
        _ = try client.blocking.send(.service)
        _ = try await client.send(.service)
        #expect(log.count("lookup") == 2 && server.log.count("connection") == 2)
    }

    @Test("Concurrent requests share one lookup") func concurrentLookups() throws {
        let gate = DispatchSemaphore(value: 0)
        let (server, pool) = try startServer(waitingFor: gate)
        for _ in 0..<20 {
            let request = AsyncRequest(Request(.get, RequestTarget("v1")), pool, by: .now + .seconds(60))
            request.start { [log] result in if case .success = result { log.add("answer") } }
        }
        #expect(log.wait(for: "lookup"))
        gate.signal()
        #expect(log.wait(for: "answer", times: 20))
        // A request whose lookup began after the end of the first lookup used the cache.
        #expect(log.count("lookup") == 1 && server.log.count("connection") == 20)
    }

    @Test("An async lookup after another lookup returns the cached addresses without a call of the resolver")
    func resultOfOtherLookup() throws {
        let resolved = try #require(HostAddresses.fixed(of: ServerAddress("http://127.0.0.1")))
        let host = HostAddresses(fixed: nil, cacheTime: .seconds(1000)) { [log] in
            log.add("lookup")
            return .success(resolved)
        }
        _ = host.lookUp()
        host.lookUp { [log] result in if case .success(resolved) = result { log.add("found") } }
        #expect(log.wait(for: "found"))
        #expect(log.count("lookup") == 1)
    }

    @Test("A blocking request whose lookup ends after the deadline sends nothing") func lookupAfterDeadline() throws {
        let (server, pool) = try startServer()
        let error = #expect(throws: SettingsError.self) {
            try pool.exchange(Request(.delete, RequestTarget("v1", "suites", "app")), by: .now)
        }
        #expect(error == .timeout(outcome: .notDone))
        #expect(server.log.count("connection") == 0)
    }

    @Test("The client tries the last working address first, until no address works") func lastWorkingAddress()
        throws
    {
        let addresses = try ["http://127.0.0.1", "http://[::1]", "http://127.0.0.2"].map {
            try #require(HostAddresses.fixed(of: ServerAddress($0))?.first)
        }
        // `fixed` has the addresses that are known without a lookup, and `known` the addresses that need no lookup now.
        for fixed in [addresses, nil] {
            let host = HostAddresses(fixed: fixed) { .success(addresses) }
            #expect(try host.lookUp().get() == addresses && host.known == addresses)
            host.recordSuccess(addresses[1])
            #expect(host.known == [addresses[1], addresses[0], addresses[2]])
            host.recordSuccess(addresses[0])
            #expect(host.known == addresses)
            host.recordSuccess(addresses[2])
            #expect(try host.lookUp().get() == [addresses[2], addresses[0], addresses[1]])
            host.forget()
            #expect(host.known == fixed)
        }
    }

    @Test("The cache does not keep a failed lookup") func failedLookup() {
        let host = HostAddresses(fixed: nil) { [log] in
            log.add("lookup")
            return Result { () throws(ResolveError) in try SocketAddress.resolve("x", port: 1, isNumeric: true) }
        }
        for _ in 0..<2 {
            if case .success = host.lookUp() { Issue.record("the lookup of an invalid address succeeded") }
            #expect(host.known == nil)
        }
        #expect(log.count("lookup") == 2)
    }
}
