internal import Foundation
internal import Glibc

/// A socket that receives messages like the notification socket of a service manager.
package final class NotifySocket {
    /// The value of `NOTIFY_SOCKET`: a path, or `@` and an abstract name.
    package let name: String
    private let descriptor: Int32

    /// - Parameter directory: The directory of the socket; nil for a socket with an abstract name.
    package init(in directory: TemporaryDirectory?) throws {
        name = directory.map { $0.path + "/notify" } ?? "@settingsd-\(UUID().uuidString)"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var path = Array(name.utf8)
        if directory == nil { path[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { throw ChildProcess.Failure(description: "bind of \(name): error \(errno)") }
    }

    deinit {
        close(descriptor)
    }

    /// Waits for the next message and returns its lines.
    package func next() throws -> [String] {
        guard !Deadline().wait(for: POLLIN, on: [descriptor]).isEmpty else {
            throw ChildProcess.Failure(description: "waited too long for a message")
        }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Waits for the next message with this first line and returns its lines.
    package func next(withFirstLine line: String) throws -> [String] {
        while true {
            let message = try next()
            if message.first == line { return message }
        }
    }
}
