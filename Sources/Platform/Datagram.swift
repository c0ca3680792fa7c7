internal import CLinux
internal import Glibc

/// A sender of single messages to a Unix domain socket.
package enum Datagram {
    /// Sends a message. Throws if the receiver's queue is full: it never waits.
    ///
    /// - Parameter name: a path, or `@` and a name that is none of the file system (an abstract one).
    package static func send(_ text: String, to name: String) throws(SystemError) {
        let made = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard made >= 0 else { throw SystemError(call: "socket") }
        let socket = Descriptor(made)
        var path = Array(name.utf8)
        guard path.count <= SocketAddress.maximumPathLength else {
            throw SystemError(call: "sendto", code: ENAMETOOLONG)
        }
        let isAbstract = path.first == UInt8(ascii: "@")
        if isAbstract { path[0] = 0 }
        var form = sockaddr_un()
        form.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &form.sun_path) { $0.copyBytes(from: path) }
        // An abstract name ends where the address does.
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        let length = socklen_t(start + path.count + (isAbstract ? 0 : 1))
        let bytes = Array(text.utf8)
        let sent = withUnsafePointer(to: form) { form in
            form.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                var sent: Int
                repeat {
                    sent = sendto(
                        socket.number, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), address,
                        length)
                } while sent < 0 && errno == EINTR
                return sent
            }
        }
        guard sent >= 0 else { throw SystemError(call: "sendto") }
    }
}
