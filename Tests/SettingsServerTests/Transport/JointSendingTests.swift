import Dispatch
import Glibc
import HTTPWire
import Platform
import TestSupport
import Testing

@testable import HTTPServer

/// Joint sends: the event loop sends the answers of hundreds of connections in one iteration, with several threads
/// (`ParallelSend`). `ScriptedHandler` leaves requests for `/later…` to the test, which answers them.
@Suite(.ownThread)
struct JointSendingTests {
    private static let connectionCount = 2 * ParallelSend.minimumConnections

    /// The kinds of exchanges, which differ in the request and the answer.
    private enum Kind: Int, CaseIterable {
        case plain, head, closing, http10, http10KeepAlive, followedByRequest

        func request(_ number: Int) -> String {
            let path = "/later\(number)"
            return switch self {
            case .plain: get(path)
            case .head: "HEAD \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
            case .closing: get(path, "Connection: close")
            case .http10: "GET \(path) HTTP/1.0\r\n\r\n"
            case .http10KeepAlive: "GET \(path) HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            case .followedByRequest: get(path) + get("/next")
            }
        }

        /// The expected field `Connection` of the answer.
        var connection: String? {
            switch self {
            case .plain, .head, .followedByRequest: nil
            case .closing, .http10: "close"
            case .http10KeepAlive: "keep-alive"
            }
        }
    }

    /// Opens connections and sends a request on each connection. Returns when all requests wait for an answer of the
    /// test.
    private func connect(
        _ server: TestServer, receiveBuffer: Int32? = nil, _ request: (Int) -> String = { get("/later\($0)") }
    ) throws -> (clients: [RawClient], exchanges: [Exchange]) {
        OpenFileLimit.raise()
        let clients = try (0..<Self.connectionCount).map { number in
            let client = try server.connect(receiveBuffer: receiveBuffer)
            try client.send(request(number))
            return client
        }
        let exchanges = try (0..<Self.connectionCount).map { number in
            #expect(server.script.log.wait(for: "handled /later\(number)"))
            return try #require(server.script.removePending("/later\(number)"))
        }
        return (clients, exchanges)
    }

    /// Answers all exchanges in one iteration of the event loop.
    private func answer(_ exchanges: [Exchange], _ response: @escaping @Sendable (Int) -> Response) {
        exchanges[0].loop.run {
            for (number, exchange) in exchanges.enumerated() {
                exchange.loop.respond(exchange.ticket, response(number))
            }
        }
    }

    // `isShared`: all answers are the same `Response`, as for watchers with the same subject.
    @Test(arguments: [true, false])
    func `A joint send answers each request as its method, version and Connection field demand`(isShared: Bool) throws {
        let server = try TestServer()
        let kinds = (0..<Self.connectionCount).map { Kind.allCases[$0 % Kind.allCases.count] }
        let (clients, exchanges) = try connect(server) { kinds[$0].request($0) }
        let shared = Script.response("shared")
        answer(exchanges) { isShared ? shared : Script.response("to \($0)") }
        for (number, client) in clients.enumerated() {
            let kind = kinds[number]
            let response = try client.readResponse(toHead: kind == .head)
            let text = isShared ? "shared" : "to \(number)"
            #expect(response.status == 200)
            #expect(response.text == (kind == .head ? "" : text))
            #expect(response.field("Content-Length") == String(text.utf8.count))
            #expect(response.field("Connection") == kind.connection)
            switch kind {
            case .closing, .http10: #expect(try client.readUntilClose().isEmpty)
            case .followedByRequest: #expect(try client.readResponse().text == "GET /next ")
            case .plain, .head, .http10KeepAlive: #expect(try client.exchange(get("/b")).text == "GET /b ")
            }
        }
    }

    @Test
    func `Closed connections do not affect a joint send`() throws {
        let server = try TestServer()
        let (clients, exchanges) = try connect(server)
        let disconnected = Set(stride(from: 0, to: Self.connectionCount, by: 3))
        // The clients disconnect while this work blocks the loop, so the loop has not seen the resets when it sends.
        let (waiting, mayContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        exchanges[0].loop.run {
            waiting.signal()
            mayContinue.patientWait()
            for exchange in exchanges { exchange.loop.respond(exchange.ticket, Script.response("here")) }
        }
        waiting.patientWait()
        for number in disconnected { clients[number].reset() }
        mayContinue.signal()
        for (number, client) in clients.enumerated() where !disconnected.contains(number) {
            #expect(try client.readResponse().text == "here")
        }
        #expect(try server.connect().exchange(get("/b")).text == "GET /b ")
    }

    @Test
    func `The part of a joint answer that does not fit into the socket buffer is sent later`() throws {
        // For the size 1, the kernel uses its smallest buffers.
        let server = try TestServer(sendBuffer: 1)
        let (clients, exchanges) = try connect(server, receiveBuffer: 1)
        // The longest body that a joint send contains.
        let long = String(repeating: "0123456789abcdef", count: ParallelSend.maximumPieceLength / 16)
        answer(exchanges) { _ in Script.response(long) }
        server.awaitLoops()
        for client in clients { #expect(try client.readResponse().text == long) }
        for client in clients { #expect(try client.exchange(get("/b")).text == "GET /b ") }
    }

    @Test
    func `Streams get each event completely and in order`() throws {
        let server = try TestServer()
        let (clients, exchanges) = try connect(server)
        exchanges[0].loop.run {
            for exchange in exchanges {
                exchange.loop.beginStream(exchange.ticket, Response(status: 200, contentType: .eventStream))
            }
        }
        for round in 0..<10 {
            exchanges[0].loop.run {
                for (number, exchange) in exchanges.enumerated() {
                    exchange.loop.push(
                        exchange.ticket, Array("data: \(number) \(round)\n\n".utf8), isLast: round == 9)
                }
            }
            server.awaitLoops()
        }
        for (number, client) in clients.enumerated() {
            #expect(try client.readHead().status == 200)
            for round in 0..<10 { #expect(try client.readPiece() == "data: \(number) \(round)\n\n") }
            #expect(try client.readPiece() == nil)
            #expect(try client.exchange(get("/b")).text == "GET /b ")
        }
    }
}
