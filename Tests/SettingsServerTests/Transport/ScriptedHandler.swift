import HTTPServer
import HTTPWire
import Platform
import Synchronization
import TestSupport

/// A request handler whose answer depends on the path. The handler records its calls.
///
/// A request for `/later…` is answered when the test calls `answer`, `/after` when all earlier requests are answered,
/// `/big` with eight megabytes, `/last` with an answer after which the connection closes, and `/slow` after two
/// milliseconds of work. The answer to any other request is the first three letters of the method, the whole path and
/// the whole body, separated by spaces: `GET /a `.
final class ScriptedHandler: RequestHandler {
    static let bigLength = 8 << 20

    private let script: Script
    private unowned let loop: EventLoop

    init(_ script: Script, _ loop: EventLoop) {
        self.script = script
        self.loop = loop
    }

    func handle(
        _ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        let path = Self.text(bytes.extracting(head.path))
        if path == "/after", exchange.hasEarlierRequests {
            script.log.add("postponed /after")
            return .afterEarlierRequests
        }
        let isLater = path.hasPrefix("/later")
        if isLater { script.pending.withLock { $0.append((path, exchange)) } }
        script.log.add("handled \(path)")
        guard !isLater else { return .later }
        switch path {
        case "/big":
            return .answer(
                Response(status: 200, contentType: .text, body: [UInt8](repeating: 0x2E, count: Self.bigLength)))
        case "/slow":
            let end = ContinuousClock.now + .milliseconds(2)
            while .now < end {}
            return .answer(Script.response("GET /slow "))
        case "/last": return .answer(Script.response("last", closes: true))
        default:
            return .answer(Script.response("\(Self.text(bytes.extracting(0..<3))) \(path) \(Self.text(body))"))
        }
    }

    func responseToRejected(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: SocketAddress, _ user: PeerUser?
    ) -> Response {
        switch rejection {
        case .request(let error): Response(status: error.status, contentType: .text, body: Array(error.reason.utf8))
        case .tooSlow: Response(status: 408)
        case .tooMuchMemory: Response(status: 503)
        case .tooManyConnections, .tooManyConnectionsOfAddress: Response(status: 429)
        }
    }

    func peerHalfClosed(_ ticket: Ticket) {
        script.log.add("half-closed")
    }

    func closed(_ ticket: Ticket) {
        script.log.add("closed")
    }

    func submitCollectedWork() {
        script.whenIterationEnds.withLock(\.self)?(loop)
    }

    func alarm(_ ticket: Ticket) {}

    func drained(_ ticket: Ticket) {
        script.log.add("drained")
    }

    func stopping() {
        script.log.add("stopping")
    }

    private static func text(_ bytes: Span<UInt8>) -> String {
        bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}

/// The state that a test shares with the request handlers of its server.
final class Script: Sendable {
    let log = EventLog()
    /// Called at the end of each iteration of a loop.
    let whenIterationEnds = Mutex<(@Sendable (EventLoop) -> Void)?>(nil)
    /// Requests that wait for `answer`, oldest first.
    let pending = Mutex<[(path: String, exchange: Exchange)]>([])

    static func response(_ text: String, closes: Bool = false) -> Response {
        Response(status: 200, contentType: .text, body: Array(text.utf8), closes: closes)
    }

    /// Removes and returns the oldest waiting request with a path. The test must answer the request.
    func removePending(_ path: String) -> Exchange? {
        pending.withLock { pending in pending.firstIndex { $0.path == path }.map { pending.remove(at: $0).exchange } }
    }

    /// Answers the oldest waiting request with a path. The answer contains the path.
    func answer(_ path: String) {
        guard let found = removePending(path) else { return }
        found.loop.run { found.loop.respond(found.ticket, Self.response(path)) }
    }
}
