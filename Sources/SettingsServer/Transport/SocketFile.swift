import CLinux
import Glibc
import Platform
import Synchronization

/// The file of a Unix domain socket: made for a socket, removed with it.
final class SocketFile: Sendable {
    /// What the kernel takes for a path: the room of an address, less the zero at its end.
    static let maximumLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    private let path: String
    private let identity: Identity
    private let isRemoved = Atomic(false)

    /// Binds a socket to a path. A socket that a daemon left there which did not stop cleanly is removed before.
    ///
    /// - Parameter mode: who may connect: those who may write to the file.
    init(of descriptor: Int32, at path: String, mode: mode_t) throws(ListenError.Reason) {
        guard path.utf8.count <= Self.maximumLength else {
            throw .system(SystemError(call: "bind", code: ENAMETOOLONG))
        }
        // The file takes its mode from the socket, so that there is no moment in which more may connect.
        guard fchmod(descriptor, mode) == 0 else { throw .system(SystemError(call: "fchmod", code: errno)) }
        if Self.bind(descriptor, to: path) != 0 {
            guard errno == EADDRINUSE else { throw .system(SystemError(call: "bind", code: errno)) }
            try Self.removeStale(path)
            guard Self.bind(descriptor, to: path) == 0 else { throw .system(SystemError(call: "bind", code: errno)) }
        }
        // The umask of the process may have taken from the mode what was asked for.
        guard chmod(path, mode) == 0, let identity = Identity(path) else {
            throw .system(SystemError(call: "chmod", code: errno))
        }
        self.path = path
        self.identity = identity
    }

    deinit {
        remove()
    }

    /// Removes the file, once, unless another stands in its place.
    func remove() {
        guard !isRemoved.exchange(true, ordering: .acquiringAndReleasing), Identity(path) == identity else { return }
        unlink(path)
    }

    /// Removes a socket that nobody answers on. Anything else stays, and is what keeps this one from listening.
    private static func removeStale(_ path: String) throws(ListenError.Reason) {
        guard let found = Identity(path) else { return }
        guard found.isSocket else { throw .occupied("something that is not a socket stands there") }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let probe = socket(AF_UNIX, type, 0)
        guard probe >= 0 else { throw .system(SystemError(call: "socket", code: errno)) }
        defer { close(probe) }
        let answers = withAddress(path) { connect(probe, $0, $1) } == 0
        switch answers ? 0 : errno {
        // Not one that was put there since.
        case ECONNREFUSED: if Identity(path) == found { unlink(path) }
        case ENOENT: return
        // The last two: its queue is full, it is of another type. Somebody has it.
        case 0, EAGAIN, EPROTOTYPE: throw .occupied("another program answers there")
        default: throw .system(SystemError(call: "connect", code: errno))
        }
    }

    private static func bind(_ descriptor: Int32, to path: String) -> Int32 {
        withAddress(path) { Glibc.bind(descriptor, $0, $1) }
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(maximumLength)) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }

    /// Which file it is that stands at a path.
    private struct Identity: Equatable {
        let device: dev_t
        let number: ino_t
        let isSocket: Bool

        /// Nil if there is none, or none that can be seen.
        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            device = status.st_dev
            number = status.st_ino
            isSocket = status.st_mode & S_IFMT == S_IFSOCK
        }
    }
}
