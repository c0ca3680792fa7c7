internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// A buffer of access log lines. The event loop passes the lines to the log thread at the end of each iteration, and
/// earlier if the iteration handles many socket events. Owned by the event loop.
struct AccessLog {
    /// The buffered lines, each with its line feed.
    private(set) var lines: [UInt8] = []
    private var times = TimeTexts()
    private var hosts = HostTexts()

    /// An answered request, which is one line of the access log.
    struct Entry {
        let request: LoggedRequest
        let status: Int
        /// The length of the body in bytes, also for HEAD, whose answer is sent without the body.
        let bodyLength: Int
        /// When the handler returned the answer.
        let time: Timestamp
        /// The time from the arrival of the request to its answer.
        let nanoseconds: UInt64

        fileprivate var arrival: Timestamp {
            Timestamp(milliseconds: time.milliseconds - Int64(nanoseconds / 1_000_000))
        }
    }

    mutating func takeLines() -> [UInt8] {
        defer { lines = [] }
        return lines
    }

    mutating func append(_ entry: Entry, format: RequestLogging.Access) {
        switch format {
        case .off: return
        case .common: appendCommon(entry)
        case .combined:
            appendCommon(entry)
            let (head, bytes) = (entry.request.head, entry.request.bytes)
            for name: StaticString in ["Referer", "User-Agent"] {
                lines.append(" \"")
                append(head.value(ofFieldNamed: name, in: bytes.span), of: bytes)
                lines.append("\"")
            }
        case .json: lines += entry.jsonBytes()
        }
        lines.append(UInt8(ascii: "\n"))
    }

    /// Appends a line in the common log format of Apache httpd: `%h %l %u %t "%r" %>s %b`.
    private mutating func appendCommon(_ entry: Entry) {
        let request = entry.request
        hosts.append(request.peer, to: &lines)
        lines.append(" - ")
        if let caller = request.caller { appendEscaped(caller.utf8Span.span) } else { lines.append("-") }
        lines.append(" [")
        times.append(entry.arrival, to: &lines)
        lines.append("] \"")
        append(request.head.methodName, of: request.bytes)
        lines.append(" ")
        append(request.head.target, of: request.bytes)
        lines.append(request.head.isHTTP11 ? " HTTP/1.1\" " : " HTTP/1.0\" ")
        lines.append(decimal: entry.status)
        lines.append(" ")
        // `%b` is the number of bytes that are sent.
        if entry.bodyLength > 0, request.head.method != .head {
            lines.append(decimal: entry.bodyLength)
        } else {
            lines.append("-")
        }
    }

    /// Appends a part of the request; `-` if the range is nil because the request does not have the part.
    private mutating func append(_ range: Range<Int>?, of bytes: [UInt8]) {
        if let range { appendEscaped(bytes.span.extracting(range)) } else { lines.append("-") }
    }

    /// Appends a value with the escapes of Apache httpd: `\"`, `\\`, `\b`, `\t`, `\n`, `\v`, `\r`, and `\xhh` for every
    /// other byte that is not printable ASCII. Appends `-` for an empty value.
    private mutating func appendEscaped(_ text: Span<UInt8>) {
        guard !text.isEmpty else { return lines.append("-") }
        var start = 0
        for index in text.indices {
            let byte = text[index]
            let isPlain = byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            guard !isPlain else { continue }
            lines.append(copying: text.extracting(start..<index))
            start = index + 1
            appendEscape(byte)
        }
        lines.append(copying: text.extracting(start..<text.count))
    }

    private mutating func appendEscape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): lines.append("\\\"")
        case UInt8(ascii: "\\"): lines.append("\\\\")
        case 0x08: lines.append("\\b")
        case 0x09: lines.append("\\t")
        case 0x0A: lines.append("\\n")
        case 0x0B: lines.append("\\v")
        case 0x0D: lines.append("\\r")
        default:
            lines.append("\\x")
            for digit in [byte >> 4, byte & 0xF] {
                lines.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            }
        }
    }
}

extension AccessLog.Entry: JSONWritable {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("time", time)
        writer.member("peer", request.peerHost)
        writer.member("by", request.caller)
        writer.member("method", request.method)
        writer.member("target", request.target)
        writer.member("status", Int64(status))
        writer.member("bytes", Int64(bodyLength))
        writer.member("microseconds", Int64(nanoseconds / 1000))
        writer.member("id", request.id)
        writer.member("traceparent", request.traceParent)
        writer.endObject()
    }
}

/// Renders times such as `10/Oct/2000:13:55:36 +0000`. Keeps the last text, because many requests have the same second.
private struct TimeTexts {
    private var second: Int64 = .min
    private var text: [UInt8] = []

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    mutating func append(_ time: Timestamp, to lines: inout [UInt8]) {
        let second = time.milliseconds / 1000
        if second != self.second {
            self.second = second
            // The description is a text such as `2000-10-10T13:55:36.000Z`.
            let description = time.description
            let date = description.prefix(10).split(separator: "-")
            let month = Int(date[1]).map { Self.months[$0 - 1] } ?? "-"
            text = Array("\(date[2])/\(month)/\(date[0]):\(description.dropFirst(11).prefix(8)) +0000".utf8)
        }
        lines.append(copying: text.span)
    }
}

/// A cache of the texts of client addresses, because rendering an address calls the C library.
private struct HostTexts {
    private var texts: [SocketAddress: [UInt8]] = [:]

    private static let maximumCount = 256

    mutating func append(_ peer: SocketAddress, to lines: inout [UInt8]) {
        guard !peer.isUnix else { return lines.append("unix") }
        let address = peer.with(port: 0)
        if let text = texts[address] { return lines.append(copying: text.span) }
        if texts.count >= Self.maximumCount { texts = [:] }
        let text = Array(peer.host.utf8)
        texts[address] = text
        lines.append(copying: text.span)
    }
}
