internal import SettingsAPI
internal import SettingsModel

/// A line of the access log.
struct AccessLine: JSONWritable {
    let time: Timestamp
    let text: LoggedRequest
    let status: Int
    let bytes: Int
    let nanoseconds: UInt64

    /// The common log format, with the request's id, its trace and its microseconds behind.
    var common: String {
        let version = text.isHTTP11 ? "HTTP/1.1" : "HTTP/1.0"
        return
            "\(text.peer) - \(text.by ?? "-") [\(time)] \"\(text.method) \(text.target) \(version)\" \(status) \(bytes) "
            + "\(text.id) \(text.traceParent ?? "-") \(nanoseconds / 1000)"
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
