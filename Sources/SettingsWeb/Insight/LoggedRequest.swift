internal import HTTPWire
internal import Platform
internal import SettingsModel
internal import SettingsStorage

/// The options of the access log and the log of slow requests.
package struct RequestLogging: Sendable {
    package enum Access: String, CaseIterable, Sendable {
        case off, common, combined, json
    }

    package var access = Access.off
    /// The milliseconds from which on a request is logged as slow; 0 for never.
    package var slowMilliseconds = 1000

    package init() {}

    /// True if a request may be logged. A request that waits for an event is never slow. While the access log is off, such
    /// a request is not copied for the log, and gets no line if a reload switches the access log on before its answer.
    func mayLog(_ timing: RequestTiming) -> Bool {
        access != .off || slowMilliseconds > 0 && !timing.waitsForEvent
    }

    func isSlow(_ nanoseconds: UInt64) -> Bool {
        slowMilliseconds > 0 && nanoseconds / 1_000_000 >= UInt64(slowMilliseconds)
    }
}

/// A copy of the head of a request for the logs, with the durations of the parts of its processing. Owned by the event loop.
final class LoggedRequest {
    let head: RequestHead
    let bytes: [UInt8]
    let peer: SocketAddress
    /// The name of the caller; nil if the caller is not known.
    let caller: String?
    private let number: (loop: Int, count: Int)
    /// The durations of the parts of a write; nil unless the write was slow.
    var times: WriteTimes?
    /// The duration of rendering the answer in the background, in nanoseconds.
    var rendering: UInt64?

    /// - Parameter number: the number of the event loop, and of the request on that loop. Both make the name of a request that
    ///   does not have the field `X-Request-Id`.
    init(
        _ head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, by caller: String?,
        number: (loop: Int, count: Int)
    ) {
        self.head = head
        self.bytes = bytes.extracting(..<head.length).withUnsafeBufferPointer { Array($0) }
        self.peer = peer
        self.caller = caller
        self.number = number
    }

    var method: String { text(head.methodName) }
    var target: String { text(head.target) }
    /// The host of the client, or `unix`.
    var host: String { peer.isUnix ? "unix" : peer.host }
    /// The name of the request: the client's, or a name that this daemon makes.
    var id: String { head.field(.requestID).flatMap(name) ?? "\(number.loop)-\(number.count)" }
    var traceParent: String? { head.field(.traceParent).flatMap(name) }

    private func text(_ range: Range<Int>) -> String {
        let bytes = bytes
        return bytes.span.text(in: range)
    }

    private static let maximumNameLength = 128

    /// Returns the text of a field that names the request; nil if the text could break the line of a log.
    private func name(_ range: Range<Int>) -> String? {
        guard !range.isEmpty, range.count <= Self.maximumNameLength,
            range.allSatisfy({ bytes[$0] > 0x20 && bytes[$0] < 0x7F && bytes[$0] != UInt8(ascii: "\"") })
        else { return nil }
        return text(range)
    }
}
