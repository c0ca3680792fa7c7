import Glibc

/// A peer that sends the bytes it is given and reads answers one by one. Blocking; a read that takes too long throws, so
/// that a test fails instead of hanging.
final class Peer {
    enum Failure: Error {
        case system(String, Int32)
        /// Nothing came in time.
        case timeout
        /// The daemon closed before the answer was complete; with what had come of it.
        case closed(String)
        case malformed(String)
    }

    private let descriptor: Int32
    /// Read and not used yet.
    private var pending: [UInt8] = []

    /// Connects to 127.0.0.1.
    init(port: UInt16, timeout seconds: Int = 20) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        var wait = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure.system("connect", errno) }
    }

    deinit {
        close(descriptor)
    }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Failure.system("send", errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads one answer. `toHead`: it answers HEAD and has no body, whatever its length says.
    func receive(toHead: Bool = false) throws -> Answer {
        while true {
            if let end = Answer.endOfHead(pending) {
                var answer = try Answer(head: pending[..<end])
                let hasBody = !toHead && answer.status != 204 && answer.status != 304
                let length = hasBody ? answer.field("Content-Length").flatMap { Int($0) } ?? 0 : 0
                while pending.count < end + length { try readMore() }
                answer.body = Array(pending[end..<(end + length)])
                pending.removeSubrange(..<(end + length))
                return answer
            }
            try readMore()
        }
    }

    private func readMore() throws {
        try withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 16) { buffer in
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count != 0 else { throw Failure.closed(String(decoding: pending, as: UTF8.self)) }
            guard count > 0 else { throw errno == EAGAIN ? Failure.timeout : Failure.system("recv", errno) }
            pending.append(contentsOf: buffer[..<count])
        }
    }
}
