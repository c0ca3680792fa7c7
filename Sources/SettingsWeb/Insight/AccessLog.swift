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

    mutating func removeLines() -> [UInt8] {
        defer { lines = [] }
        return lines
    }

    mutating func append(_ entry: Entry, format: RequestLogging.Access) {
        switch format {
        case .off: return
        case .common: append(entry, isCombined: false)
        case .combined: append(entry, isCombined: true)
        case .json:
            lines += entry.jsonBytes()
            lines.append(UInt8(ascii: "\n"))
        }
    }

    /// Appends a line in the common log format of Apache httpd, `%h %l %u %t "%r" %>s %b`, or in its combined format,
    /// which ends with the fields `Referer` and `User-Agent`.
    private mutating func append(_ entry: Entry, isCombined: Bool) {
        let (request, head) = (entry.request, entry.request.head)
        let host = hosts.text(of: request.peer)
        let time = times.text(of: entry.arrival)
        let (referer, userAgent) = isCombined ? (head.field(.referer), head.field(.userAgent)) : (nil, nil)
        let escapedLength =
            (request.caller?.utf8.count ?? 0) + head.methodName.count + head.target.count + (referer?.count ?? 0)
            + (userAgent?.count ?? 0)
        let maximumLength =
            host.count + time.count + 4 * escapedLength + 2 * BufferWriter.maximumNumberLength
            + Self.maximumLiteralLength
        let bytes = request.bytes
        lines.append(atMost: maximumLength) { line in
            line.append(copying: host.span)
            line.append(" - ")
            if let caller = request.caller { line.append(escaped: caller.utf8Span.span) } else { line.append("-") }
            line.append(" [")
            line.append(copying: time.span)
            line.append("] \"")
            line.append(escaped: bytes.span.extracting(head.methodName))
            line.append(" ")
            line.append(escaped: bytes.span.extracting(head.target))
            line.append(head.isHTTP11 ? " HTTP/1.1\" " : " HTTP/1.0\" ")
            line.append(decimal: entry.status)
            line.append(" ")
            // `%b` is the number of bytes that are sent.
            if entry.bodyLength > 0, request.head.method != .head {
                line.append(decimal: entry.bodyLength)
            } else {
                line.append("-")
            }
            if isCombined {
                line.append(" \"")
                line.append(escaped: bytes.span.extracting(referer ?? 0..<0))
                line.append("\" \"")
                line.append(escaped: bytes.span.extracting(userAgent ?? 0..<0))
                line.append("\"")
            }
            line.append("\n")
        }
    }

    /// More than the length of the constant parts of a line.
    private static let maximumLiteralLength = 64
}

extension BufferWriter {
    /// Appends a value with the escapes of Apache httpd: `\"`, `\\`, `\b`, `\t`, `\n`, `\v`, `\r`, and `\xhh` for every
    /// other byte that is not printable ASCII. Appends `-` for an empty value. Appends at most four bytes for a byte.
    fileprivate mutating func append(escaped text: Span<UInt8>) {
        guard !text.isEmpty else { return append("-") }
        var start = 0
        for index in text.indices {
            let byte = text[index]
            let isPlain = byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
            guard !isPlain else { continue }
            append(copying: text.extracting(start..<index))
            start = index + 1
            append(escape: byte)
        }
        append(copying: text.extracting(start..<text.count))
    }

    private mutating func append(escape byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0A: append("\\n")
        case 0x0B: append("\\v")
        case 0x0D: append("\\r")
        default:
            append("\\x")
            for digit in [byte >> 4, byte & 0xF] {
                append(byte: digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
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

    mutating func text(of time: Timestamp) -> [UInt8] {
        let second = time.milliseconds / 1000
        if second != self.second {
            self.second = second
            // The description is a text such as `2000-10-10T13:55:36.000Z`.
            let description = time.description
            let date = description.prefix(10).split(separator: "-")
            let month = Int(date[1]).map { Self.months[$0 - 1] } ?? "-"
            text = Array("\(date[2])/\(month)/\(date[0]):\(description.dropFirst(11).prefix(8)) +0000".utf8)
        }
        return text
    }
}

/// A cache of the texts of client addresses, because rendering an address calls the C library.
private struct HostTexts {
    private var texts: [SocketAddress: [UInt8]] = [:]

    private static let maximumCount = 256

    private static let unix = Array("unix".utf8)

    mutating func text(of peer: SocketAddress) -> [UInt8] {
        guard !peer.isUnix else { return Self.unix }
        let address = peer.with(port: 0)
        if let text = texts[address] { return text }
        if texts.count >= Self.maximumCount { texts = [:] }
        let text = Array(peer.host.utf8)
        texts[address] = text
        return text
    }
}
