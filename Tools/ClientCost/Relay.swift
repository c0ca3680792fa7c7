import Foundation
import Synchronization

/// A TCP proxy that records the bytes that clients send to a server.
final class Relay: Sendable {
    let port: UInt16
    /// The bytes that the client of each connection has sent.
    private let sent = Mutex<[[UInt8]]>([])

    init(to server: UInt16) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0, withLoopback(0, { bind(listener, $0, $1) }) == 0, listen(listener, 16) == 0 else {
            throw CostFailure("cannot listen on a port of 127.0.0.1")
        }
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isNamed = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) == 0 }
        }
        guard isNamed else { throw CostFailure("cannot find out the port of a listening socket") }
        port = UInt16(bigEndian: address.sin_port)
        // The threads and sockets remain until the program ends. The program makes only one relay.
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let server = try? RawExchange.connectedSocket(to: server) else { return }
                let connection = sent.withLock { sent in
                    sent.append([])
                    return sent.count - 1
                }
                Thread.detachNewThread { [self] in
                    Self.copy(from: client, to: server) { bytes in sent.withLock { $0[connection] += bytes } }
                }
                Thread.detachNewThread { Self.copy(from: server, to: client) { _ in } }
            }
        }
    }

    /// Returns the recorded request that contains a text.
    func request(with text: String) throws -> [UInt8] {
        for bytes in sent.withLock({ $0 }) {
            var rest = bytes[...]
            while let length = HTTPLength.of(rest), length <= rest.count {
                let request = rest.prefix(length)
                if request.end(of: Array(text.utf8)) != nil { return Array(request) }
                rest = rest.dropFirst(length)
            }
        }
        throw CostFailure("no recorded request contains \(text)")
    }

    /// Copies bytes until the source ends, and calls `record` with them.
    private static func copy(from source: Int32, to target: Int32, _ record: ([UInt8]) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            record(Array(buffer.prefix(count)))
            guard send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(target, Int32(SHUT_WR))
    }
}
