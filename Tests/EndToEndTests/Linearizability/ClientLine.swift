import Glibc
import SettingsModel

/// A connection of a client that sends bytes and reads answers, each within a bounded time.
final class ClientLine {
    /// The connection is of no more use.
    struct Lost: Error, CustomStringConvertible {
        let description: String
    }

    /// An answer as it came.
    struct Answer {
        let status: Int
        /// Values by the names of the fields in lower case.
        let fields: [String: String]
        let body: [UInt8]
    }

    private static let bound = timeval(tv_sec: 20, tv_usec: 0)

    private let descriptor: Int32
    private var unread: [UInt8] = []

    init(port: UInt16) throws(Lost) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Lost(description: "no socket: errno \(errno)") }
        var bound = Self.bound
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &bound, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Lost(description: "not connected: errno \(errno)") }
    }

    deinit {
        close(descriptor)
    }

    func send(_ bytes: [UInt8]) throws(Lost) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Lost(description: "not sent: errno \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    /// The next answer, with a body of the length that it names.
    func receive() throws(Lost) -> Answer {
        var searched = 0
        while true {
            if let end = headEnd(from: searched) {
                let head = String(decoding: unread[..<end], as: UTF8.self).split(separator: "\r\n")
                guard let line = head.first, let status = Int(line.dropFirst(9).prefix(3)) else {
                    throw Lost(description: "no answer begins with \(head.first ?? "")")
                }
                var fields: [String: String] = [:]
                for line in head.dropFirst() {
                    let parts = line.split(separator: ":", maxSplits: 1)
                    guard parts.count == 2 else { throw Lost(description: "no field: \(line)") }
                    fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
                }
                let length = fields["content-length"].flatMap { Int($0) } ?? 0
                while unread.count < end + 4 + length { try read() }
                let body = Array(unread[(end + 4)..<(end + 4 + length)])
                unread.removeFirst(end + 4 + length)
                return Answer(status: status, fields: fields, body: body)
            }
            searched = max(0, unread.count - 3)
            try read()
        }
    }

    private func headEnd(from start: Int) -> Int? {
        guard unread.count >= 4 else { return nil }
        return (start...(unread.count - 4)).first { unread[$0..<($0 + 4)].elementsEqual([13, 10, 13, 10]) }
    }

    private func read() throws(Lost) {
        var buffer = [UInt8](repeating: 0, count: 16384)
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else {
            throw Lost(description: count == 0 ? "closed by the daemon" : "nothing received: errno \(errno)")
        }
        unread += buffer[..<count]
    }
}
