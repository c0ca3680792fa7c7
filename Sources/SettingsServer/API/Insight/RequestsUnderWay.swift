internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// The options about what is logged of requests.
package struct RequestLogging: Sendable {
    package enum Access: String, CaseIterable, Sendable {
        case off, common, json
    }

    package var access = Access.off
    /// The milliseconds from which on a request is logged as slow; 0 for never.
    package var slowMilliseconds = 1000

    package init() {}

    /// True if the texts of requests are needed.
    var isOn: Bool { access != .off || slowMilliseconds > 0 }

    func isSlow(_ nanoseconds: UInt64) -> Bool {
        slowMilliseconds > 0 && nanoseconds / 1_000_000 >= UInt64(slowMilliseconds)
    }
}

/// A request that is looked at. Plain numbers, since each has one.
struct RequestLookedAt: BitwiseCopyable {
    /// When it came, in nanoseconds of the loop.
    let since: UInt64
    /// Nil until it is known, and for one that leads nowhere.
    var route: RouteName?
    /// True if it waits for a change, so that its time says nothing.
    var isWaiting = false
}

/// A request whose answer has not been given yet.
struct RequestUnderWay {
    var request: RequestLookedAt
    /// Nil for one that is answered at once, and where nothing is logged.
    var text: RequestText?
    var times: WriteTimes?
    var rendering: UInt64?
}

/// The texts of a request, for the logs.
final class RequestText {
    let method: String
    let target: String
    let isHTTP11: Bool
    let by: String?
    let traceParent: String?
    private let address: SocketAddress
    /// The name that its sender gave it.
    private let givenID: String?
    private let number: (loop: Int, count: Int)

    /// - Parameter number: makes the name of the request if its sender gave none: its loop, and its number there.
    init(
        _ head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, by: String?,
        number: (loop: Int, count: Int)
    ) {
        method = bytes.text(in: head.methodName)
        target = bytes.text(in: head.target)
        isHTTP11 = head.isHTTP11
        self.by = by
        traceParent = head.field(.traceParent).flatMap { Self.name($0, in: bytes) }
        address = peer
        givenID = head.field(.requestID).flatMap { Self.name($0, in: bytes) }
        self.number = number
    }

    // Made when they are logged: most requests are not.

    var peer: String { address.isUnix ? "unix" : address.host }

    /// The name of the request, from its sender or made here.
    var id: String { givenID ?? "\(number.loop)-\(number.count)" }

    private static let longestName = 128

    /// Returns a name that a request gives itself; nil for one that could be mistaken for more than that.
    private static func name(_ range: Range<Int>, in bytes: Span<UInt8>) -> String? {
        guard !range.isEmpty, range.count <= longestName,
            range.allSatisfy({ bytes[$0] > 0x20 && bytes[$0] < 0x7F && bytes[$0] != UInt8(ascii: "\"") })
        else { return nil }
        return bytes.text(in: range)
    }
}

/// Answers, on their way to the connection.
extension APIHandler {
    /// Gives the answer to a request that was to be answered later.
    func answer(_ ticket: Ticket, _ response: Response) {
        finish(ticket, response)
        loop.respond(ticket, response)
    }

    /// Begins a stream, or the answer to HEAD for one. Returns false if there is nothing to push.
    @discardableResult
    func begin(_ ticket: Ticket, _ response: Response) -> Bool {
        noteWaiting(ticket)
        finish(ticket, response)
        return loop.begin(ticket, response)
    }

    /// Notes that a request waits for a change.
    func noteWaiting(_ ticket: Ticket) {
        if lookedAt == ticket { current.isWaiting = true } else { underWay[ticket]?.request.isWaiting = true }
    }

    private func finish(_ ticket: Ticket, _ response: Response) {
        if let known = underWay.removeValue(forKey: ticket) {
            note(response, known.request, known) { known.text }
        } else if lookedAt == ticket {
            lookedAt = nil
            note(response, current) { nil }
        }
    }

    /// Counts an answer, and logs what is to be logged of it.
    func note(
        _ response: borrowing Response, _ request: RequestLookedAt, _ known: RequestUnderWay? = nil,
        text: () -> RequestText?
    ) {
        figures.count(response.status, response.refusal)
        let time = loop.clock.now() &- request.since
        if let route = request.route, !request.isWaiting { figures.count(route, time) }
        let isSlow = policies.logging.isSlow(time) && !request.isWaiting
        guard isSlow || policies.logging.access != .off, let text = text() else { return }
        if policies.logging.access != .off { addLine(text, status: response.status, response.body.count, time) }
        guard isSlow else { return }
        figures.slowRequests += 1
        service.slow(Self.description(text, response.status, time, known?.times, known?.rendering))
    }

    /// Logs a request whose connection was gone before its answer, with the status 499 as others do.
    func noteClosed(_ ticket: Ticket) {
        guard let request = underWay.removeValue(forKey: ticket), policies.logging.access != .off,
            let text = request.text
        else { return }
        addLine(text, status: 499, 0, loop.clock.now() &- request.request.since)
    }

    private func addLine(_ text: RequestText, status: Int, _ bytes: Int, _ nanoseconds: UInt64) {
        let line = AccessLine(time: service.clock(), text: text, status: status, bytes: bytes, nanoseconds: nanoseconds)
        lines += policies.logging.access == .json ? line.jsonBytes() : Array(line.common.utf8)
        lines.append(UInt8(ascii: "\n"))
    }

    private static func description(
        _ text: RequestText, _ status: Int, _ time: UInt64, _ times: WriteTimes?, _ rendering: UInt64?
    ) -> String {
        var parts: [(String, UInt64)] = []
        if let times {
            parts += [("waiting for the writer", times.waiting), ("deciding", times.deciding)]
            parts.append(("syncing", times.syncing))
        }
        if let rendering { parts.append(("rendering", rendering)) }
        let known = parts.reduce(0) { $0 + $1.1 }
        let other = times == nil && rendering == nil ? "waiting for the loop, and reading" : "elsewhere"
        parts.append((other, time - min(time, known)))
        let list = parts.map { "\($0.1 / 1_000_000) ms \($0.0)" }.joined(separator: ", ")
        let trace = text.traceParent.map { ", traceparent \($0)" } ?? ""
        return "slow request: \(text.method) \(text.target) took \(time / 1_000_000) ms (\(list)); status \(status), "
            + "id \(text.id)\(trace)"
    }

    /// Asks all loops for their figures, and answers with the metrics once it has them.
    func gatherFigures(for ticket: Ticket) {
        let loops = service.policies.loops
        let sum = FigureSum(of: loops.count)
        let mailbox = mailbox
        for loop in loops {
            loop.ask { handler in
                handler?.figures.streams = handler?.watchers.streamCount ?? 0
                guard let figures = sum.add(handler?.figures) else { return }
                mailbox.run { handler in
                    // Beside the loop: it counts the keys of all suites, and the files that are open. First, since it is
                    // wanted most when very many others wait.
                    handler.search(for: ticket, goesFirst: true) { [service = handler.service] in
                        let response = service.metricsText(figures)
                        return { $0.answer(ticket, response) }
                    }
                }
            }
        }
    }
}
