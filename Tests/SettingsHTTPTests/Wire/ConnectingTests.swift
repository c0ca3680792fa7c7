import ClientTestSupport
import Glibc
import Platform
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of connecting to servers that refuse connections, drop packets or have a full backlog. `localhost` has the
/// addresses 127.0.0.1 and ::1, in this order. `ListeningSocket.fillBacklog` fills the backlog with connections; the
/// kernel then drops the packets of further TCP connections. `ListeningSocket.pair` listens on one port of both
/// addresses. For port 0, the kernel chooses a free port.
@Suite(.ownThread)
struct ConnectingTests {
    /// Starts a server on the socket. Its clients connect to the host `name` and the port.
    private func serve(_ socket: ListeningSocket, as name: String, port: UInt16) throws -> ScriptedServer {
        ScriptedServer(on: socket, at: try ServerAddress("http://\(name):\(port)")) { _, peer, _ in
            while peer.readRequest() != nil { peer.send(ScriptedServer.service) }
        }
    }

    @Test("A host whose first address refuses connections is reached at its second address")
    func firstAddressRefuses() async throws {
        // No socket listens at 127.0.0.1.
        let socket = try ListeningSocket(.ipv6(0), backlog: 128)
        let server = try serve(socket, as: "localhost", port: socket.port)
        #expect(try server.client().blocking.send(.service).name == "settingsd")
        #expect(try await server.client().send(.service).name == "settingsd")
    }

    @Test("A host whose first address drops packets is reached at its second address")
    func firstAddressDropsPackets() async throws {
        let (fullSocket, socket) = try ListeningSocket.pair(backlog: 0)
        try #require(fullSocket.fillBacklog())
        let server = try serve(socket, as: "localhost", port: socket.port)
        #expect(try server.client(timeout: .seconds(20)).blocking.send(.service).name == "settingsd")
        #expect(try await server.client(timeout: .seconds(20)).send(.service).name == "settingsd")
    }

    @Test("A request to a host whose only address drops packets fails at its timeout") func singleAddress() throws {
        let fullSocket = try ListeningSocket(.ipv4(0), backlog: 0)
        try #require(fullSocket.fillBacklog())
        let client = DaemonClient(try fullSocket.address(), timeout: .milliseconds(300)).blocking
        let error = #expect(throws: SettingsError.self) { try client.send(.service) }
        #expect(error?.description.hasSuffix("the daemon did not answer in time") ?? false)
    }

    @Test("A client waits for a Unix domain socket whose backlog is full") func fullBacklogOfUnixSocket() async throws {
        let socket = try ListeningSocket(backlog: 0)
        try #require(socket.fillBacklog())
        let client = DaemonClient(try socket.address(), timeout: .milliseconds(50))
        let error = #expect(throws: SettingsError.self) { try client.blocking.send(.service) }
        #expect(error?.description.hasSuffix("the daemon did not answer in time") ?? false)
        let asyncError = await #expect(throws: SettingsError.self) { try await client.send(.service) }
        #expect(asyncError == error)
        let patientRequest = Task { try await client.withTimeout(.seconds(20)).send(.service).name }
        // The name and the port are not used, because the client already has the path of the socket.
        let server = try serve(socket, as: "localhost", port: 1)
        #expect(try await patientRequest.value == "settingsd")
        // The connections of `fillBacklog` and of the patient request.
        #expect(server.log.count("connection") >= 2)
    }

    @Test("A socket that is connected to itself counts as refused") func selfConnection() throws {
        // While the daemon does not run, the kernel can choose the destination port of a client as its source port.
        // Then the socket connects to itself. Here, the listening socket is closed at once, so its port is free.
        let port = try ListeningSocket(.ipv4(0), backlog: 1).port
        let address = try #require(HostAddresses.fixed(of: ServerAddress("http://127.0.0.1:\(port)"))?.first)
        let socket = try Socket(for: address)
        let localAddress = RawAddress.ipv4(port)
        try #require(localAddress.withSocketAddress { bind(socket.descriptor, $0, $1) } == 0)
        var result = socket.connect(to: address)
        if case .inProgress = result { result = socket.connectionState() }
        guard case .failed(code: ECONNREFUSED) = result else {
            Issue.record("\(result)")
            return
        }
    }
}
