internal import HTTPWire
internal import Platform
internal import SettingsModel
internal import SettingsStorage

/// The options about what is logged of requests.
package struct RequestLogging: Sendable {
    package enum Access: String, CaseIterable, Sendable {
        case off, common, combined, json
    }

    package var access = Access.off
    /// The milliseconds from which on a request is logged as slow; 0 for never.
    package var slowMilliseconds = 1000

    package init() {}

    /// True if a request may be logged. One that waits for a change is never slow, so it is not kept for the log while the
    /// access log is off, and gets no line if a reload turns that on meanwhile.
    func mayLog(_ request: RequestLookedAt) -> Bool {
        access != .off || slowMilliseconds > 0 && !request.isWaiting
    }

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
    /// Nil for one that will not be logged.
    var text: LoggedRequest?
}

/// What a line of the log says of a plain write.
struct PlainWrite {
    let peer: SocketAddress
    let suite: SuiteName
    let key: KeyName
}

/// A copy of the head of a request, for the logs, with the times that its parts took. Owned by the event loop.
final class LoggedRequest {
    let head: RequestHead
    let bytes: [UInt8]
    let peer: SocketAddress
    /// The name of the caller; nil if the caller is not known.
    let caller: String?
    private let number: (loop: Int, count: Int)
    /// The times of a write; nil unless the write took long.
    var times: WriteTimes?
    /// How long the rendering of the answer took in the background, in nanoseconds.
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
