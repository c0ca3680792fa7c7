internal import CLinux
internal import Glibc

/// Sends single messages to Unix domain sockets of the type `SOCK_DGRAM`, such as the notification socket of systemd.
package enum Datagram {
    /// Sends a message. Never blocks: if the queue of the receiver is full, throws `EAGAIN`.
    ///
    /// - Parameter name: the path of the socket, or `@` and a name in the abstract namespace of Linux.
    package static func send(_ text: String, to name: String) throws(SystemError) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket") }
        let socket = Descriptor(descriptor)
        var path = Array(name.utf8)
        guard path.count <= SocketAddress.maximumPathLength else {
            throw SystemError(call: "sendto", code: ENAMETOOLONG)
        }
        let isAbstract = path.first == UInt8(ascii: "@")
        if isAbstract { path[0] = 0 }
        var unixAddress = sockaddr_un()
        unixAddress.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &unixAddress.sun_path) { $0.copyBytes(from: path) }
        // The length of the address determines the end of an abstract name. A zero byte ends a path.
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        let length = socklen_t(start + path.count + (isAbstract ? 0 : 1))
        let bytes = Array(text.utf8)
        let sent = withUnsafePointer(to: unixAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
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
