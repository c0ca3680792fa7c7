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
        guard withLoopback(port, { connect(socket, $0, $1) }) == 0 else {
            throw CostFailure("there is no listener on port \(port)")
        }
        return socket
    }

    /// Sends a request and waits until the whole answer is there; it must say that all went well.
    func exchange(_ request: [UInt8]) throws {
        guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw CostFailure("a request was not sent")
        }
        var filled = 0
        repeat {
            let count = buffer.withUnsafeMutableBytes { room in
                recv(socket, room.baseAddress.map { $0 + filled }, room.count - filled, 0)
            }
            guard count > 0 else { throw CostFailure("the connection ended") }
            filled += count
        } while HTTPLength.of(buffer[..<filled]).map { $0 > filled } ?? true
        guard buffer[9] == UInt8(ascii: "2") else {
            throw CostFailure("refused: \(String(decoding: buffer[..<filled], as: UTF8.self))")
        }
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
