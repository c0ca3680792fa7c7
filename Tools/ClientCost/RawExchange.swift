import Glibc

/// A connection that sends the bytes of a request and receives the bytes of the answer, on the calling thread. The
/// duration of this exchange is the part of a write that does not depend on the Swift client.
final class RawExchange {
    private let socket: Int32
    private var buffer = [UInt8](repeating: 0, count: 65536)

    init(port: UInt16) throws {
        socket = try Self.connectedSocket(to: port)
    }

    deinit {
        close(socket)
    }

    /// Returns a socket that is connected to a port of 127.0.0.1.
    static func connectedSocket(to port: UInt16) throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw CostFailure("cannot create a socket") }
        var on: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard withLoopback(port, { connect(socket, $0, $1) }) == 0 else {
            throw CostFailure("there is no listener on port \(port)")
        }
        return socket
    }

    /// Sends a request and waits for the complete answer. Throws unless its status is 2xx.
    func exchange(_ request: [UInt8]) throws {
        guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw CostFailure("the kernel did not accept the whole request")
        }
        var filled = 0
        repeat {
            let count = buffer.withUnsafeMutableBytes { buffer in
                recv(socket, buffer.baseAddress.map { $0 + filled }, buffer.count - filled, 0)
            }
            guard count > 0 else { throw CostFailure("the server closed the connection before the end of an answer") }
            filled += count
        } while HTTPLength.of(buffer[..<filled]).map { $0 > filled } ?? true
        // The status follows the nine bytes `HTTP/1.1 `.
        guard buffer[9] == UInt8(ascii: "2") else {
            throw CostFailure("the server refused a request: \(String(decoding: buffer[..<filled], as: UTF8.self))")
        }
    }
}

/// Calls the body with the address of a port of 127.0.0.1.
func withLoopback<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
}
