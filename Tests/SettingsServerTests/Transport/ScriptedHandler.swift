import HTTPWire
import SettingsServer
import Synchronization
import TestSupport

/// Does what the path says, and writes down what it is told.
///
/// `/later…` is answered when the test says so, `/later-alarm` has an alarm a second later, `/later-until-stop` is answered
/// when the loop stops, `/after` only when nothing is before it, `/big` with eight megabytes,
/// `/last` and the connection closes. Anything else is answered with its method, its path and its body.
final class ScriptedHandler: RequestHandler {
    static let bigLength = 8 << 20

    private let script: Script

    init(_ script: Script) {
        self.script = script
    }

    func handle(
        _ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        let path = Self.text(bytes.extracting(head.path))
        if path == "/after", exchange.isBehind {
            script.log.add("not yet")
            return .notYet
        }
        let isLater = path.hasPrefix("/later")
        // An alarm may be set before the handler has said that it owes the answer.
        if path.hasPrefix("/later-alarm") {
            exchange.loop.setAlarm(exchange.ticket, at: exchange.loop.now + 1_000_000_000)
        }
        if isLater { script.owed.withLock { $0.append((path, exchange)) } }
        script.log.add("handled \(path)")
        guard !isLater else { return .later }
        switch path {
        case "/big":
            return .answer(
                Response(status: 200, contentType: .text, body: [UInt8](repeating: 0x2E, count: Self.bigLength)))
        case "/last": return .answer(Script.response("last", closes: true))
        default:
            return .answer(Script.response("\(Self.text(bytes.extracting(0..<3))) \(path) \(Self.text(body))"))
        }
    }

    func rejected(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: PeerAddress
    ) -> Response {
        switch rejection {
        case .request(let error): Response(status: error.status, contentType: .text, body: Array(error.reason.utf8))
        case .tooSlow: Response(status: 408)
        case .tooManyConnections: Response(status: 429)
        }
    }

    func peerHalfClosed(_ ticket: Ticket) {
        script.log.add("half-closed")
    }

    func alarm(_ ticket: Ticket) {
        script.log.add("alarm")
    }

    func drained(_ ticket: Ticket) {
        script.log.add("drained")
    }

    func stopping() {
        script.log.add("stopping")
        for (path, exchange) in script.owed.withLock({ $0 }) where path.hasPrefix("/later-until-stop") {
            exchange.loop.respond(exchange.ticket, Script.response(path))
        }
    }

    func closed(_ ticket: Ticket) {
        script.log.add("closed")
    }

    private static func text(_ bytes: Span<UInt8>) -> String {
        bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}

/// What a test shares with the handlers of its server.
final class Script: Sendable {
    let log = EventLog()
    /// Requests that wait for `answer`, oldest first.
    let owed = Mutex<[(path: String, exchange: Exchange)]>([])

    static func response(_ text: String, closes: Bool = false) -> Response {
        Response(status: 200, contentType: .text, body: Array(text.utf8), closes: closes)
    }

    /// The first request with that path that waits; it is up to the test from now on.
    func take(_ path: String) -> Exchange? {
        owed.withLock { owed in owed.firstIndex { $0.path == path }.map { owed.remove(at: $0).exchange } }
    }

    /// Answers the owed request with that path with its path; again and again if told so.
    func answer(_ path: String, times: Int = 1) {
        guard let found = take(path) else { return }
        found.loop.run {
            for _ in 0..<times { found.loop.respond(found.ticket, Self.response(path)) }
        }
    }
}
