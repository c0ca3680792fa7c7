internal import Dispatch
internal import Glibc
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// A log of requests on standard output, written beside the loops. Lines that find no room are lost and counted.
package final class AccessLog: Sendable {
    private static let mostWaiting = 8 << 20

    private let queue = DispatchQueue(label: "settingsd.access", qos: .utility)
    private let waiting = Atomic(0)
    private let lost = Atomic(0)

    package init() {}

    /// Batches of lines that were lost.
    var lostBatches: Int { lost.load(ordering: .relaxed) }

    /// Adds whole lines. From any thread.
    func write(_ lines: [UInt8]) {
        guard waiting.add(lines.count, ordering: .relaxed).newValue <= Self.mostWaiting else {
            waiting.subtract(lines.count, ordering: .relaxed)
            lost.add(1, ordering: .relaxed)
            return
        }
        queue.async {
            var rest = lines[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    self.lost.add(1, ordering: .relaxed)
                    break
                }
                rest = rest.dropFirst(count)
            }
            self.waiting.subtract(lines.count, ordering: .relaxed)
        }
    }

    /// Waits until all that was added is written.
    func finish() { queue.sync {} }
}

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
