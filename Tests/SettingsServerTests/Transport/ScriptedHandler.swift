import HTTPServer
import HTTPWire
import Platform
import Synchronization
import TestSupport

/// A request handler that does what the path says, and logs its calls.
///
/// `/later…` is answered when the test says so, `/after` only when nothing is before it, `/big` with eight megabytes,
/// `/last` and the connection closes, `/slow` after two milliseconds of work. Anything else is answered with its method, its path
/// and its body.
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
            script.log.add("not yet")
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

    func rejected(
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

/// What a test shares with the handlers of its server.
final class Script: Sendable {
    let log = EventLog()
    /// Called at the end of each iteration of a loop.
    let whenIterationEnds = Mutex<(@Sendable (EventLoop) -> Void)?>(nil)
    /// Requests that wait for `answer`, oldest first.
    let pending = Mutex<[(path: String, exchange: Exchange)]>([])

    static func response(_ text: String, closes: Bool = false) -> Response {
        Response(status: 200, contentType: .text, body: Array(text.utf8), closes: closes)
    }

    /// The first request with that path that waits; it is up to the test from now on.
    func removePending(_ path: String) -> Exchange? {
        pending.withLock { pending in pending.firstIndex { $0.path == path }.map { pending.remove(at: $0).exchange } }
    }

    /// Answers the pending request with that path with its path; so many times.
    func answer(_ path: String, times: Int = 1) {
        guard let found = removePending(path) else { return }
        found.loop.run {
            for _ in 0..<times { found.loop.respond(found.ticket, Self.response(path)) }
        }
    }
}
