import CLinux
import Glibc

/// A peer that sends exactly the bytes it is given and reads answers one by one. Blocking; a read that takes longer than
/// the timeout throws, so that a test fails instead of hanging.
final class RawClient {
    enum Failure: Error, Equatable {
        case system(String, Int32)
        /// Nothing came in time.
        case timeout
        /// The peer closed before the answer was complete; with what had come of it.
        case closed(String)
        case reset
        case malformed(String)
    }

    private let descriptor: Int32
    private var isOpen = true
    /// Read and not used yet.
    private var pending: [UInt8] = []

    /// Connects to 127.0.0.1. `receiveBuffer` makes the kernel keep little for a peer that does not read.
    init(port: UInt16, timeout seconds: Int = 10, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system("socket", errno) }
        var wait = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close()
            throw Failure.system("connect", code)
        }
    }

    deinit {
        close()
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw Failure.system("send", errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends what the kernel takes at once; returns how much that was.
    func sendWithoutWaiting(_ bytes: [UInt8]) -> Int {
        max(
            0,
            bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            })
    }

    /// Half-close: nothing more will be sent, answers are still read.
    func endSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        _ = Glibc.close(descriptor)
    }

    /// Closes so that the other side sees a reset.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    /// Reads one answer. `toHead`: it answers HEAD and has no body, whatever its length says.
    func readResponse(toHead: Bool = false) throws -> RawResponse {
        while true {
            if let end = RawResponse.endOfHead(pending) {
                var response = try RawResponse(head: pending[..<end])
                let hasBody = !toHead && response.status >= 200 && response.status != 204 && response.status != 304
                let length = hasBody ? response.field("Content-Length").flatMap { Int($0) } ?? 0 : 0
                while pending.count < end + length { try readMore() }
                response.body = Array(pending[end..<(end + length)])
                pending.removeSubrange(..<(end + length))
                return response
            }
            try readMore()
        }
    }

    /// Reads the head of an answer and nothing of its body.
    func readHead() throws -> RawResponse {
        try readResponse(toHead: true)
    }

    /// Reads a chunk of a body that comes in chunks; nil for the last, which is empty.
    func readChunk() throws -> String? {
        let line = try readBytes { bytes in bytes.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } }
        guard let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) else {
            throw Failure.malformed(String(decoding: line, as: UTF8.self))
        }
        let chunk = try readBytes { $0.count >= size + 2 ? size + 2 : nil }
        return size == 0 ? nil : String(decoding: chunk.dropLast(2), as: UTF8.self)
    }

    /// Reads until `end` says how many of the bytes belong together.
    private func readBytes(_ end: ([UInt8]) -> Int?) throws -> [UInt8] {
        while true {
            if let count = end(pending) {
                defer { pending.removeSubrange(..<count) }
                return Array(pending[..<count])
            }
            try readMore()
        }
    }

    /// Sends a request and reads its answer.
    func exchange(_ text: String) throws -> RawResponse {
        try send(text)
        return try readResponse()
    }

    /// Everything up to the end that the peer makes.
    func readUntilClose() throws -> [UInt8] {
        while true {
            do {
                try readMore()
            } catch Failure.closed {
                defer { pending = [] }
                return pending
            }
        }
    }

    private func readMore() throws {
        try withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 16) { buffer in
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count != 0 else { throw Failure.closed(String(decoding: pending, as: UTF8.self)) }
            guard count > 0 else {
                switch errno {
                case EAGAIN: throw Failure.timeout
                case ECONNRESET: throw Failure.reset
                default: throw Failure.system("recv", errno)
                }
            }
            pending.append(contentsOf: buffer[..<count])
        }
    }
}
