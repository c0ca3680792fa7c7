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
    /// A request that takes at least this many milliseconds is logged as slow; 0 to log no slow requests.
    package var slowMilliseconds = 1000

    package init() {}

    /// True if the answer to a request may be logged, so that the event loop must copy the head of the request.
    ///
    /// A request whose duration depends on its client or on later commits, such as a backup or a long poll, is never
    /// logged as slow. So its head is not copied while the access log is off. If a reload turns the access log on
    /// before the answer, the access log has no line for the request.
    func mayLog(_ timing: RequestTiming) -> Bool {
        access != .off || slowMilliseconds > 0 && !timing.waitsForEvent
    }

    func isSlow(_ nanoseconds: UInt64) -> Bool {
        slowMilliseconds > 0 && nanoseconds / 1_000_000 >= UInt64(slowMilliseconds)
    }
}

/// A copy of the head of a request for the logs, with the durations of the processing steps. Owned by the event loop.
final class LoggedRequest {
    let head: RequestHead
    /// The bytes of the head. The ranges of `head` refer to this array.
    let bytes: [UInt8]
    let peer: SocketAddress
    /// The name of the caller (the sender of the request); nil without access control, for an unknown or malformed
    /// credential, and for a request that is answered without a check of its credential, such as a request for
    /// `/healthz`.
    let caller: String?
    private let number: (loop: Int, count: Int)
    /// The durations of the steps of a write; nil unless the store took more than 5 ms for the write
    /// (`WriteTimes.slowThreshold`).
    var times: WriteTimes?
    /// The duration of rendering the answer in the background, in nanoseconds.
    var rendering: UInt64?

    /// - Parameter number: the number of the event loop, and the number of the request on this loop. The two numbers
    ///   are the identifier of a request without the field `X-Request-Id`.
    init(
        _ head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, by caller: String?,
        number: (loop: Int, count: Int)
    ) {
        (self.head, self.peer, self.caller, self.number) = (head, peer, caller, number)
        self.bytes = bytes.extracting(..<head.length).withUnsafeBufferPointer { Array($0) }
    }

    var method: String { text(head.methodName) }
    var target: String { text(head.target) }
    /// The host of the client, or `unix`.
    var peerHost: String { peer.isUnix ? "unix" : peer.host }
    /// The identifier of the request: the field `X-Request-Id`, or an identifier that the daemon assigns.
    var id: String { head.field(.requestID).flatMap(identifier) ?? "\(number.loop)-\(number.count)" }
    /// The field `traceparent`, which identifies the request in distributed tracing (W3C Trace Context).
    var traceParent: String? { head.field(.traceParent).flatMap(identifier) }

    private func text(_ range: Range<Int>) -> String {
        let bytes = bytes
        return bytes.span.text(in: range)
    }

    private static let maximumIdentifierLength = 128

    /// Returns the text of an identifying field; nil if it is empty, too long, or could break the format of a log line.
    private func identifier(_ range: Range<Int>) -> String? {
        guard !range.isEmpty, range.count <= Self.maximumIdentifierLength,
            range.allSatisfy({ bytes[$0] > 0x20 && bytes[$0] < 0x7F && bytes[$0] != UInt8(ascii: "\"") })
        else { return nil }
        return text(range)
    }
}
