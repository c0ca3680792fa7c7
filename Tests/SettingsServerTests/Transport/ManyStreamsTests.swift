import HTTPWire
import TestSupport
import Testing

@testable import SettingsServer

/// Peers that wait, all at once.
@Suite(.ownThread)
struct ManyStreamsTests {
    private static let count = 200

    private func connect(_ server: TestServer) throws -> (clients: [RawClient], exchanges: [Exchange]) {
        let clients = try (0..<Self.count).map { number in
            let client = try server.connect()
            try client.send(get("/later\(number)"))
            return client
        }
        let exchanges = try (0..<Self.count).map { number in
            #expect(server.script.log.wait(for: "handled /later\(number)"))
            return try #require(server.script.take("/later\(number)"))
        }
        return (clients, exchanges)
    }

    @Test("Hundreds of streams each get every event, whole and in order") func hundredsStreamsEachGet() throws {
        OpenFileLimit.raise()
        let server = try TestServer(loops: 2)
        let (clients, exchanges) = try connect(server)
        let rounds = 20
        for exchange in exchanges {
            exchange.loop.run {
                exchange.loop.begin(exchange.ticket, Response(status: 200, contentType: .eventStream, body: []))
            }
        }
        for round in 0..<rounds {
            for (number, exchange) in exchanges.enumerated() {
                // Events end where they like, not with their pieces.
                exchange.loop.run {
                    let isLast = round == rounds - 1
                    exchange.loop.push(exchange.ticket, Array("data: \(number)".utf8).span)
                    exchange.loop.push(exchange.ticket, Array(" \(round)\n\n".utf8).span, isLast: isLast)
                }
            }
        }
        for (number, client) in clients.enumerated() {
            #expect(try client.readHead().status == 200)
            for round in 0..<rounds { #expect(try client.readPiece() == "data: \(number) \(round)\n\n") }
            #expect(try client.readPiece() == nil)
        }
    }

    @Test("Of hundreds that wait, those that are answered have news and the others none")
    func hundredsWaitThoseAnswered() throws {
        OpenFileLimit.raise()
        let server = try TestServer(loops: 2)
        let (clients, exchanges) = try connect(server)
        let answered = Set(stride(from: 0, to: Self.count, by: 7))
        for number in answered {
            let exchange = exchanges[number]
            exchange.loop.run { exchange.loop.respond(exchange.ticket, Script.response("\(number)")) }
        }
        var seen: Set<Int> = []
        while seen != answered {
            let news = RawClient.withNews(among: clients)
            for number in try #require(news.isEmpty ? nil : news) {
                #expect(try clients[number].readResponse().text == "\(number)")
                #expect(seen.insert(number).inserted)
            }
        }
        server.settle()
        #expect(!clients.contains { $0.hasNews })
        clients[1].reset()
        #expect(server.script.log.wait(for: "closed"))
        #expect(server.script.log.count("closed") == 1)
    }
}
