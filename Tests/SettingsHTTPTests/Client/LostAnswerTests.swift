import ClientTestSupport
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of connections that end before the client has received the whole answer, of early and large answers, and of
/// servers that are no daemon or cannot be reached.
///
/// A `ScriptedServer` calls the closure of a test for each connection, with the number of the connection, counted from
/// 0, and closes the connection after the call. Its log gets the entry `connection` for each connection.
/// `ScriptedServer.service` is an answer to a read, and `ScriptedServer.acceptedWrite` is an answer to a write.
/// `.reset` is a write that removes all values, and `.plain.repeatable()` gives a write a request key. A `CuttingProxy`
/// forwards requests to a daemon. After `dropAnswers(count)`, the proxy closes the connection instead of sending the
/// next `count` answers.
@Suite(.ownThread)
struct LostAnswerTests {
    private let names: SampleNames
    /// The header field with which the server announces the end of the connection.
    private let closeField = "Connection: close\r\n"

    init() throws {
        names = try SampleNames()
    }

    @Test("A client replaces an idle connection that the server has closed, and the caller sees no error")
    func idleConnectionClosedByServer() throws {
        let server = try ScriptedServer { _, peer, _ in
            guard peer.readRequest() != nil else { return }
            peer.send(ScriptedServer.service)
        }
        let client = server.client().blocking
        for _ in 0..<5 { #expect(try client.send(.service).name == "settingsd") }
        #expect(server.log.count("connection") == 5)
    }

    @Test("A connection that has ended is not reused, so a write that may be sent only once succeeds")
    func endedConnection() throws {
        let server = try ScriptedServer { number, peer, _ in
            guard peer.readRequest() != nil else { return }
            peer.send(number == 0 ? ScriptedServer.service : ScriptedServer.acceptedWrite)
        }
        let pool = ConnectionPool(server.address)
        let client = DaemonClient(pool, timeout: .seconds(Deadline.patience)).blocking
        _ = try client.send(.service)
        // The pool drops the connection when it notices that the server has closed the connection.
        let limit = ContinuousClock.now + .seconds(Deadline.patience)
        while let connection = pool.removeConnection() {
            pool.keepIdle(connection)
            guard ContinuousClock.now < limit else { break }
        }
        #expect(pool.idleCount == 0)
        #expect(try client.send(.reset(names.app)).changed)
        #expect(server.log.count("connection") == 2)
    }

    @Test("If a reused connection ends during a request, a read is repeated, and a write only if it has a request key")
    func reusedConnectionEnds()
        throws
    {
        // Each connection answers one request and ends at the second request.
        let server = try ScriptedServer { _, peer, log in
            guard peer.readRequest() != nil else { return }
            peer.send(ScriptedServer.service)
            if peer.readRequest() != nil { log.add("dropped") }
        }
        let client = server.client().blocking
        _ = try client.send(.service)
        _ = try client.send(.service)
        #expect(server.log.count("dropped") == 1)
        let error = #expect(throws: SettingsError.self) { try client.send(.reset(names.app)) }
        #expect(error == .unreachable("\(server.address): the connection ended", outcome: .unknown))
        // The write was not repeated on a third connection.
        #expect(server.log.count("dropped") == 2 && server.log.count("connection") == 2)
        _ = try client.send(.service)
        // The repeat reaches a new connection. The server sends an answer that does not fit a write, which does not
        // matter here.
        let repeated = #expect(throws: SettingsError.self) { try client.send(.reset(names.app, .plain.repeatable())) }
        guard case .malformedAnswer? = repeated else {
            Issue.record("\(String(describing: repeated))")
            return
        }
        #expect(server.log.count("dropped") == 3 && server.log.count("connection") == 4)
    }

    /// The bodies without JSON are from a server between the client and the daemon.
    @Test(
        "If the server refuses a repeat before it processes the repeat, the outcome stays unknown",
        arguments: [
            (429, #"{"code":"too_many_connections","detail":"x"}"#),
            (503, #"{"code":"overloaded","detail":"x","outcome":"not_done"}"#), (429, "busy"), (403, "no"),
        ])
    func repeatRefusedBeforeProcessing(status: Int, body: String)
        async throws
    {
        // Each call of `send` uses two connections. The first connection receives the write and ends without an answer,
        // so the write may have been done. On the second connection, the server refuses the repeat.
        let server = try ScriptedServer { [closeField] number, peer, log in
            guard peer.readRequest() != nil else { return }
            if number % 2 == 1 { peer.send(ScriptedServer.answer(body, status: status, more: closeField)) }
        }
        let client = server.client()
        let error = #expect(throws: SettingsError.self) {
            try client.blocking.send(.reset(names.app, .plain.repeatable()))
        }
        #expect(error?.status == status && error?.outcome == .unknown)
        let asyncError = await #expect(throws: SettingsError.self) {
            try await client.send(.reset(names.app, .plain.repeatable()))
        }
        #expect(asyncError?.status == status && asyncError?.outcome == .unknown)
        #expect(server.log.count("connection") == 4)
    }

    @Test("If the daemon refuses a repeated write with the code locked, neither attempt has done the write")
    func repeatRefusedByDaemon() throws {
        // Connection 0 ends without an answer, connection 1 refuses the repeat, and connection 2 refuses the first
        // attempt of the second write.
        let server = try ScriptedServer { [closeField] number, peer, log in
            guard peer.readRequest() != nil else { return }
            let body = #"{"code":"\#(number == 1 ? "locked" : "overloaded")","detail":"x"}"#
            if number > 0 { peer.send(ScriptedServer.answer(body, status: number == 1 ? 403 : 429, more: closeField)) }
        }
        let client = server.client().blocking
        let refused = #expect(throws: SettingsError.self) { try client.send(.reset(names.app, .plain.repeatable())) }
        #expect(refused?.code == .locked && refused?.outcome == .notDone)
        let refusedFirstAttempt = #expect(throws: SettingsError.self) {
            try client.send(.reset(names.app, .plain.repeatable()))
        }
        #expect(refusedFirstAttempt?.status == 429 && refusedFirstAttempt?.outcome == .notDone)
    }

    @Test("A client does not repeat a request after it has received a part of the answer") func partialAnswer()
        throws
    {
        let server = try ScriptedServer { _, peer, log in
            guard peer.readRequest() != nil else { return }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{")
        }
        let error = #expect(throws: SettingsError.self) { try server.client().blocking.send(.service) }
        #expect(error == .unreachable("\(server.address): the connection ended", outcome: .notDone))
        #expect(server.log.count("connection") == 1)
    }

    @Test("A write whose answer was lost takes effect once, and its repeat gets the first answer")
    func lostAnswerWithRequestKey() async throws {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        let client = proxy.server.client()
        try client.blocking.send(.set(names.launchCount, to: 0, in: names.app))
        proxy.dropAnswers(1)
        let answer = try client.blocking.send(
            .change(names.launchCount, by: .add(1), in: names.app, .plain.repeatable()))
        #expect(answer.isReplayed && answer.value == 1 && answer.previous?.value == 0)
        // After two lost answers, the caller has to repeat the write with the same request key.
        let options = WriteOptions.plain.repeatable()
        proxy.dropAnswers(2)
        let error = #expect(throws: SettingsError.self) {
            try client.blocking.send(.change(names.launchCount, by: .add(1), in: names.app, options))
        }
        #expect(error == .unreachable("\(client.address): the connection ended", outcome: .unknown))
        #expect(error?.isTransient == true)
        let repeated = try await client.send(.change(names.launchCount, by: .add(1), in: names.app, options))
        #expect(repeated.isReplayed && repeated.value == 2)
        #expect(try await client.send(.setting(names.launchCount, in: names.app)).value == 2)
        #expect(proxy.server.log.count("dropped answer") == 3)
    }

    @Test("A write without a request key whose answer is lost has an unknown outcome")
    func lostAnswerWithoutRequestKey()
        async throws
    {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        let client = proxy.server.client()
        try client.blocking.send(.set(names.launchCount, to: 0, in: names.app))
        proxy.dropAnswers(1)
        let error = await #expect(throws: SettingsError.self) {
            try await client.send(.change(names.launchCount, by: .add(1), in: names.app))
        }
        #expect(error?.outcome == .unknown)
        #expect(try await client.send(.setting(names.launchCount, in: names.app)).value == 1)
    }

    @Test("A client reads an answer that arrives before the client has sent the whole request")
    func earlyAnswer() throws {
        let log = EventLog()
        let server = try ScriptedServer { _, peer, _ in
            _ = peer.read()
            peer.send(ScriptedServer.answer(#"{"code":"too_large","detail":"no"}"#, status: 413))
            // If the connection closes early, a Unix domain socket may lose the last bytes.
            _ = log.wait(for: "client has read the answer")
        }
        let text = JSONValue.string(String(repeating: "x", count: 20_000_000))
        let error = #expect(throws: SettingsError.self) {
            try server.client().blocking.send(.set(names.theme, to: text, in: names.app))
        }
        log.add("client has read the answer")
        #expect(error?.code == .tooLarge, "\(String(describing: error))")
    }

    @Test("A client sends and receives a body of many packets completely", arguments: ServedDaemon.Transport.allCases)
    func largeBodies(transport: ServedDaemon.Transport) async throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client(transport)
        let text = JSONValue.string(String(repeating: "0123456789", count: 500_000))
        #expect(try client.blocking.send(.set(names.theme, to: text, in: names.app)).value == text)
        #expect(try await client.send(.set(names.launchCount, to: text, in: names.app)).value == text)
        let values = try await client.send(.suite(names.app)).contents.values.map(\.value)
        #expect(
            try values == [text, text] && client.blocking.send(.suite(names.app)).contents.values.map(\.value) == values
        )
        #expect(client.pool.idleCount == 1)
    }

    @Test("An error distinguishes a server that is not a daemon, a gateway, a redirect and a missing socket")
    func serverThatIsNoDaemon() async throws {
        let htmlServer = try ScriptedServer { _, peer, _ in
            _ = peer.readRequest()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>")
        }
        let otherProtocolServer = try ScriptedServer { _, peer, _ in
            _ = peer.readRequest()
            peer.send("+OK ready\r\n")
        }
        let gateway = try ScriptedServer { _, peer, _ in
            _ = peer.readRequest()
            peer.send("HTTP/1.1 502 Bad Gateway\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n")
        }
        for server in [htmlServer, otherProtocolServer] {
            let error = await #expect(throws: SettingsError.self) { try await server.client().send(.service) }
            guard case .malformedAnswer(_, .notDone)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(error?.isTransient == false)
        }
        let gatewayError = await #expect(throws: SettingsError.self) { try await gateway.client().send(.service) }
        #expect(
            gatewayError?.status == 502 && gatewayError?.code == nil && gatewayError?.problem?.retryAfterMs == 3000
                && gatewayError?.isTransient == true)
        #expect(gatewayError?.description.hasPrefix("502: \(gateway.address): ") == true)
        let redirectingServer = try ScriptedServer { _, peer, _ in
            _ = peer.readRequest()
            peer.send(
                "HTTP/1.1 301 Moved\r\nLocation: https://there.example/v1\r\nContent-Length: 2\r\n\r\n{}")
        }
        let redirected = #expect(throws: SettingsError.self) { try redirectingServer.client().blocking.send(.service) }
        #expect(redirected?.description.hasPrefix("301: \(redirectingServer.address): ") == true)
        #expect(redirected?.description.contains("https://there.example/v1") == true)
        let missingSocketClient = DaemonClient(try ServerAddress("unix:/nobody/listens/here"))
        let error = #expect(throws: SettingsError.self) {
            try missingSocketClient.blocking.send(.remove(names.theme, in: names.app))
        }
        #expect(
            error
                == .unreachable("unix:/nobody/listens/here: No such file or directory", outcome: .notDone))
        let asyncError = await #expect(throws: SettingsError.self) {
            try await missingSocketClient.send(.remove(names.theme, in: names.app))
        }
        #expect(asyncError == error)
    }

    @Test("A host name without an address is unreachable for blocking and async requests")
    func unknownHostName() async throws {
        // The system asks no resolver for a name that is too long to be a host name. The default port is 7070.
        let name = String(repeating: "x", count: 300)
        let client = try DaemonClient("http://\(name)")
        let error = #expect(throws: SettingsError.self) { try client.blocking.send(.service) }
        guard case .unreachable(let reason, .notDone)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.hasPrefix("http://\(name):7070: \(name): "))
        let asyncError = await #expect(throws: SettingsError.self) { try await client.send(.service) }
        #expect(asyncError == error)
    }
}
