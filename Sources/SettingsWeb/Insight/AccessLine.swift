internal import SettingsAPI
internal import SettingsModel

/// A line of the access log.
struct AccessLine: JSONWritable {
    let time: Timestamp
    let text: LoggedRequest
    let status: Int
    let bytes: Int
    let nanoseconds: UInt64

    /// The line in the common log format of Apache httpd: `%h %l %u %t "%r" %>s %b`.
    var common: String {
        let request = "\(text.method) \(text.target) \(text.isHTTP11 ? "HTTP/1.1" : "HTTP/1.0")"
        return "\(text.peer) - \(Self.escape(text.by)) \(bracketedTime) \"\(Self.escape(request))\" \(status) "
            + (bytes > 0 && text.method != "HEAD" ? "\(bytes)" : "-")
    }

    /// The line in the combined log format: the common format, then `"%{Referer}i" "%{User-agent}i"`.
    var combined: String { "\(common) \"\(Self.escape(text.referer))\" \"\(Self.escape(text.userAgent))\"" }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The time at which the request arrived, in the form `[10/Oct/2000:13:55:36 +0000]`.
    private var bracketedTime: String {
        // The form of `text` is `2000-10-10T13:55:36.000Z`.
        let text = Timestamp(milliseconds: time.milliseconds - Int64(nanoseconds / 1_000_000)).description
        let date = text.prefix(10).split(separator: "-")
        let month = Int(date[1]).map { Self.months[$0 - 1] } ?? "-"
        return "[\(date[2])/\(month)/\(date[0]):\(text.dropFirst(11).prefix(8)) +0000]"
    }

    /// Escapes a value the way Apache httpd does: `\"`, `\\`, letters for the usual control characters, and `\xhh` for any other
    /// byte that is not printable ASCII. A missing or empty value is `-`.
    private static func escape(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "-" }
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): escaped += "\\\""
            case UInt8(ascii: "\\"): escaped += "\\\\"
            case 0x08: escaped += "\\b"
            case 0x09: escaped += "\\t"
            case 0x0A: escaped += "\\n"
            case 0x0B: escaped += "\\v"
            case 0x0D: escaped += "\\r"
            case 0x20..<0x7F: escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default: escaped += "\\x" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return escaped
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("time", time)
        writer.member("peer", text.peer)
        writer.member("by", text.by)
        writer.member("method", text.method)
        writer.member("target", text.target)
        writer.member("status", Int64(status))
        writer.member("bytes", Int64(bytes))
        writer.member("microseconds", Int64(nanoseconds / 1000))
        writer.member("id", text.id)
        writer.member("traceparent", text.traceParent)
        writer.endObject()
    }
}
