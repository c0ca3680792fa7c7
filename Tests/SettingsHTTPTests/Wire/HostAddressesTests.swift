import ClientTestSupport
import Dispatch
import Glibc
import HTTPWire
import Platform
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Looking up the names of hosts, with a resolver that a test plays.
@Suite(.ownThread)
struct HostAddressesTests {
    private let log = EventLog()

    /// A server on TCP, and a pool that has to look up its name.
    private func served(
        cacheTime: Duration = .seconds(1000), slowly gate: DispatchSemaphore? = nil
    ) throws -> (ScriptedServer, ConnectionPool) {
        let socket = try ListeningSocket(.ipv4(0), backlog: 128)
        let address = try ServerAddress("http://settings.example:\(socket.port)")
        let server = ScriptedServer(on: socket, at: address) { _, peer, _ in
            if peer.readRequest() != nil { peer.send(ScriptedServer.service) }
        }
        let found = try #require(HostAddresses.fixed(of: socket.address()))
        let host = HostAddresses(fixed: nil, cacheTime: cacheTime) { [log] in
            log.add("asked")
            gate?.patientWait()
            return .success(found)
        }
        return (server, ConnectionPool(address, host: host))
    }

    @Test("A name that is known leads to the server in both forms, and is asked for once") func nameKnownLeadsServer()
        async throws
    {
        let (server, pool) = try served()
        let client = DaemonClient(pool, timeout: .seconds(20))
        for _ in 0..<3 {
            #expect(try client.blocking.send(.service).name == "settingsd")
            #expect(try await client.send(.service).name == "settingsd")
        }
        #expect(log.count("asked") == 1)
        #expect(server.log.count("connection") == 6)
    }

    @Test("A cached look-up expires") func whatWasFoundAsked() async throws {
        let (server, pool) = try served(cacheTime: .zero)
        let client = DaemonClient(pool, timeout: .seconds(20))
        _ = try client.blocking.send(.service)
        _ = try await client.send(.service)
        #expect(log.count("asked") == 2 && server.log.count("connection") == 2)
    }

    @Test("Requests at the same time share one look-up") func manyWhoAskOnce() throws {
        let gate = DispatchSemaphore(value: 0)
        let (server, pool) = try served(slowly: gate)
        for _ in 0..<20 {
            let poll = LongPoll(Request(.get, RequestTarget("v1")), pool, by: .now + .seconds(60))
            poll.start { [log] result in if case .success = result { log.add("answer") } }
        }
        #expect(log.wait(for: "asked"))
        gate.signal()
        #expect(log.wait(for: "answer", times: 20))
        // Later requests used the cache.
        #expect(log.count("asked") == 1 && server.log.count("connection") == 20)
    }

    @Test("A look-up right after another has ended takes what that one found") func foundMeanwhile() throws {
        let found = try #require(HostAddresses.fixed(of: ServerAddress("http://127.0.0.1")))
        let host = HostAddresses(fixed: nil, cacheTime: .seconds(1000)) { [log] in
            log.add("asked")
            return .success(found)
        }
        _ = host.lookUp()
        host.lookUp { [log] result in if case .success(found) = result { log.add("found") } }
        #expect(log.wait(for: "found"))
        #expect(log.count("asked") == 1)
    }

    @Test("A look-up that comes too late for a blocking request leaves nothing to be sent") func lookUpComesToo() throws
    {
        let (server, pool) = try served()
        let error = #expect(throws: SettingsError.self) {
            try pool.exchange(Request(.delete, RequestTarget("v1", "suites", "app")), by: .now)
        }
        #expect(error == .late(outcome: .notDone))
        #expect(server.log.count("connection") == 0)
    }

    @Test("The address that worked last is the first to be tried, until none works") func addressWorkedLastFirst()
        throws
    {
        let addresses = try ["http://127.0.0.1", "http://[::1]", "http://127.0.0.2"].map {
            try #require(HostAddresses.fixed(of: ServerAddress($0))?.first)
        }
        for fixed in [addresses, nil] {
            let host = HostAddresses(fixed: fixed) { .success(addresses) }
            #expect(try host.lookUp().get() == addresses && host.known == addresses)
            host.worked(addresses[1])
            #expect(host.known == [addresses[1], addresses[0], addresses[2]])
            host.worked(addresses[0])
            #expect(host.known == addresses)
            host.worked(addresses[2])
            #expect(try host.lookUp().get() == [addresses[2], addresses[0], addresses[1]])
            host.forget()
            #expect(host.known == fixed)
        }
    }

    @Test("A failure is not kept") func failureNotKept() {
        let host = HostAddresses(fixed: nil) { [log] in
            log.add("asked")
            return Result { () throws(ResolveError) in try SocketAddress.resolve("x", port: 1, isNumeric: true) }
        }
        for _ in 0..<2 {
            if case .success = host.lookUp() { Issue.record("found") }
            #expect(host.known == nil)
        }
        #expect(log.count("asked") == 2)
    }
}
