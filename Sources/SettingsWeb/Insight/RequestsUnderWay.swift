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

/// A request as the logs have it: its texts, and the times of its parts. Used on its loop only.
final class LoggedRequest {
    let method: String
    let target: String
    let isHTTP11: Bool
    let by: String?
    let traceParent: String?
    /// Nil unless the format of the access log has them.
    let referer: String?
    let userAgent: String?
    private let address: SocketAddress
    /// The name that its sender gave it.
    private let givenID: String?
    private let number: (loop: Int, count: Int)
    /// The times at the writer; nil unless the write took long.
    var times: WriteTimes?
    /// The nanoseconds that rendering the answer took, if that was done beside the loop.
    var rendering: UInt64?

    /// - Parameter number: makes the name of the request if its sender gave none: its loop, and its number there.
    init(
        _ head: RequestHead, _ bytes: Span<UInt8>, from peer: SocketAddress, by: String?,
        number: (loop: Int, count: Int), for format: RequestLogging.Access
    ) {
        func text(_ name: StaticString) -> String? {
            guard format == .combined else { return nil }
            return head.value(ofFieldNamed: name, in: bytes).map { bytes.text(in: $0) }
        }
        (referer, userAgent) = (text("Referer"), text("User-Agent"))
        method = bytes.text(in: head.methodName)
        target = bytes.text(in: head.target)
        isHTTP11 = head.isHTTP11
        self.by = by
        traceParent = head.field(.traceParent).flatMap { Self.name($0, in: bytes) }
        address = peer
        givenID = head.field(.requestID).flatMap { Self.name($0, in: bytes) }
        self.number = number
    }

    init(_ plain: PlainWrite, number: (loop: Int, count: Int)) {
        method = "PUT"
        target = "/v1/suites/\(plain.suite)/keys/\(plain.key)"
        isHTTP11 = true
        (by, traceParent, referer, userAgent, givenID) = (nil, nil, nil, nil, nil)
        address = plain.peer
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
