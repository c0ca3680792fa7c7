import CLinux
import Glibc

/// An error that names the call's reason.
func systemFailure(_ what: String) -> LoadFailure {
    LoadFailure("\(what): \(String(cString: strerror(errno)))")
}

/// Seconds of the monotonic clock.
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return seconds(time)
}

/// Seconds of the clock of the kernel's receive time stamps.
func wallClockSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return seconds(time)
}

private func seconds(_ time: timespec) -> Double { Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 }

/// Has the next bytes acknowledged together with the next request rather than at once, as they are for a client that asks
/// again as soon as it is answered.
func acknowledgeLate(_ socket: Int32) {
    var isQuick: Int32 = 0
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_QUICKACK, &isQuick, socklen_t(MemoryLayout<Int32>.size))
}

/// Takes what has arrived, without waiting. Tells how many bytes that were, as `recv` does, and when the last of them came,
/// which the kernel has noted: reading them late gives the same.
func received(
    from socket: Int32, into room: UnsafeMutableBufferPointer<UInt8>
) -> (count: Int, arrival: Double) {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: MemoryLayout<cmsghdr>.alignment) { control in
        var part = iovec(iov_base: room.baseAddress, iov_len: room.count)
        return withUnsafeMutablePointer(to: &part) { part in
            var message = msghdr()
            (message.msg_iov, message.msg_iovlen) = (part, 1)
            (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
            let count = recvmsg(socket, &message, Int32(MSG_DONTWAIT))
            let head = MemoryLayout<cmsghdr>.size
            guard count > 0, message.msg_controllen >= head + MemoryLayout<timespec>.size,
                control.load(as: cmsghdr.self).cmsg_type == SO_TIMESTAMPNS
            else { return (count, 0) }
            return (count, seconds(control.load(fromByteOffset: head, as: timespec.self)))
        }
    }
}

/// Lets the process have as many open files as it may.
func raiseOpenFiles(toHold needed: Int) throws(LoadFailure) {
    var limit = rlimit()
    let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(files, &limit) == 0 else { throw systemFailure("getrlimit") }
    limit.rlim_cur = limit.rlim_max
    guard setrlimit(files, &limit) == 0 else { throw systemFailure("setrlimit") }
    guard limit.rlim_max >= needed else {
        throw LoadFailure("\(limit.rlim_max) files may be open (ulimit -Hn), and \(needed) are needed")
    }
}

/// A connection from `host`, which is an address in the host's byte order, to `port` of 127.0.0.1.
///
/// Closing it resets it, so that runs leave nothing behind in the kernel that the next would pay for.
func connectedSocket(to port: UInt16, from host: UInt32) throws(LoadFailure) -> Int32 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw systemFailure("socket") }
    func set(_ level: Int32, _ name: Int32, _ value: some BitwiseCopyable) {
        _ = withUnsafeBytes(of: value) { setsockopt(socket, level, name, $0.baseAddress, socklen_t($0.count)) }
    }
    set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
    set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    set(SOL_SOCKET, SO_TIMESTAMPNS, Int32(1))
    // The port is chosen at `connect`, when it need be unlike others to the same peer only.
    set(Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, Int32(1))
    try perform("bind", socket, bind, host, 0)
    try perform("connect", socket, connect, INADDR_LOOPBACK, port)
    return socket
}

private func perform(
    _ name: String, _ socket: Int32, _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ host: UInt32,
    _ port: UInt16
) throws(LoadFailure) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = host.bigEndian
    address.sin_port = port.bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(socket, $0, size) }
    }
    guard result == 0 else { throw systemFailure(name) }
}
