import Glibc

/// A connection that does nothing but send the bytes of a request and receive those of its answer, on the calling
/// thread: what is left of a write without a client.
final class RawExchange {
    private let socket: Int32
    private var buffer = [UInt8](repeating: 0, count: 65536)

    init(port: UInt16) throws {
        socket = try Self.connected(to: port)
    }

    deinit {
        close(socket)
    }

    static func connected(to port: UInt16) throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw CostFailure("no socket") }
        var on: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        let result = withLoopback(port) { connect(socket, $0, $1) }
        guard result == 0 else { throw CostFailure("nobody listens on port \(port)") }
        return socket
    }

    /// Sends a request and waits until the whole answer is there; it must say that all went well.
    func exchange(_ request: [UInt8]) throws {
        guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw CostFailure("a request was not sent")
        }
        var filled = 0
        while true {
            let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress! + filled, $0.count - filled, 0) }
            guard count > 0 else { throw CostFailure("the connection ended") }
            filled += count
            if let end = Self.end(of: buffer[..<filled]), end <= filled { break }
        }
        guard buffer[9] == UInt8(ascii: "2") else {
            throw CostFailure("refused: \(String(decoding: buffer[..<filled], as: UTF8.self))")
        }
    }

    /// Where an answer ends; nil while its head is not whole.
    private static func end(of bytes: ArraySlice<UInt8>) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        let field = Array("content-length: ".utf8)
        guard let body = bytes.end(of: mark), let number = bytes.end(of: field, ignoringCase: true) else { return nil }
        var length = 0
        for byte in bytes[number...] {
            guard let digit = byte.digit else { break }
            length = length * 10 + digit
        }
        return body + length
    }
}

/// Calls with the address of a port of this machine.
func withLoopback<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
}

extension UInt8 {
    fileprivate var digit: Int? {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) ? Int(self - UInt8(ascii: "0")) : nil
    }
}

extension Collection<UInt8> where Index == Int {
    /// Where some bytes end for the first time.
    func end(of wanted: [UInt8], ignoringCase: Bool = false) -> Int? {
        guard count >= wanted.count else { return nil }
        let mask: UInt8 = ignoringCase ? 0x20 : 0
        for start in startIndex...(endIndex - wanted.count)
        where wanted.indices.allSatisfy({ self[start + $0] | mask == wanted[$0] | mask }) {
            return start + wanted.count
        }
        return nil
    }
}
