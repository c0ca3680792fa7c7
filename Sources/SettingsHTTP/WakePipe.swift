internal import Glibc

/// What one thread waits on and any other can end the wait with.
final class WakePipe: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    /// Nil with `errno` set if the system has no descriptors left.
    init?() {
        var ends: [Int32] = [-1, -1]
        // A pair of sockets is closed in child processes from its first moment; a pipe would be only from its second, and
        // another thread may start a child in between.
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        guard socketpair(AF_UNIX, Int32(type), 0, &ends) == 0 else { return nil }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        _ = close(readEnd)
        _ = close(writeEnd)
    }

    /// Makes the read end readable.
    func wake() {
        var byte: UInt8 = 1
        while write(writeEnd, &byte, 1) < 0, errno == EINTR {}
    }

    /// Takes back one `wake`.
    func settle() {
        var byte: UInt8 = 0
        while read(readEnd, &byte, 1) < 0, errno == EINTR {}
    }
}
