import CLinux
import Glibc

/// A descriptor that becomes readable when somebody rings: how other threads wake a loop that waits in epoll.
struct Doorbell: Sendable {
    /// What epoll calls it; no connection has this name.
    static let name = UInt64.max

    let socket: Socket
    private let owned: OwnedDescriptor

    init() throws(SystemError) {
        let descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError(call: "eventfd", code: errno) }
        owned = OwnedDescriptor(descriptor)
        socket = Socket(descriptor: descriptor)
    }

    /// From any thread.
    func ring() {
        eventfd_write(socket.descriptor, 1)
    }

    /// Takes note of all rings so far.
    func answer() {
        var rings: eventfd_t = 0
        eventfd_read(socket.descriptor, &rings)
    }
}
