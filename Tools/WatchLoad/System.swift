import CLinux
import Glibc

/// Returns an error with the operation that failed, and the reason in `errno`.
func systemFailure(_ operation: String) -> LoadFailure {
    LoadFailure("\(operation): \(String(cString: strerror(errno)))")
}

/// Returns the time of the monotonic clock in seconds.
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return seconds(time)
}

/// Returns the time of the wall clock in seconds. The time stamps of received bytes have the same clock.
func wallClockSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return seconds(time)
}

private func seconds(_ time: timespec) -> Double { Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 }

/// Makes the kernel acknowledge the next received bytes together with the next request instead of at once. The kernel
/// does this by itself for a client that sends its next request immediately after an answer.
func delayAcknowledgement(_ socket: Int32) {
    var isImmediate: Int32 = 0
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_QUICKACK, &isImmediate, socklen_t(MemoryLayout<Int32>.size))
}

/// Receives bytes that have arrived, without waiting. Returns the result of `recvmsg`, and the time at which the last
/// of the bytes arrived. The kernel records this time at the arrival, so a late call does not change the time. The
/// time is 0 if no bytes were received, or if the kernel recorded no time.
func received(
    from socket: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>
) -> (count: Int, arrival: Double) {
    // 64 bytes have room for a header and a time stamp.
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: MemoryLayout<cmsghdr>.alignment) { control in
        var part = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
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

/// Raises the limit of open files of the process to the hard limit. Throws if the hard limit is less than `needed`.
func raiseOpenFileLimit(toHold needed: Int) throws(LoadFailure) {
    var limit = rlimit()
    let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(files, &limit) == 0 else { throw systemFailure("getrlimit") }
    limit.rlim_cur = limit.rlim_max
    guard setrlimit(files, &limit) == 0 else { throw systemFailure("setrlimit") }
    guard limit.rlim_max >= needed else {
        throw LoadFailure(
            "the limit of open files (ulimit -Hn) is \(limit.rlim_max), and \(needed) are needed; raise the limit")
    }
}

/// Connects to `port` of 127.0.0.1 from `host`, which is an IPv4 address in the byte order of the machine.
///
/// A close resets the connection, so that no connections in the state TIME_WAIT remain that would slow down the next
/// run.
func connectedSocket(to port: UInt16, from host: UInt32) throws(LoadFailure) -> Int32 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw systemFailure("socket") }
    func set(_ level: Int32, _ name: Int32, _ value: some BitwiseCopyable) {
        _ = withUnsafeBytes(of: value) { setsockopt(socket, level, name, $0.baseAddress, socklen_t($0.count)) }
    }
    set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
    set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    set(SOL_SOCKET, SO_TIMESTAMPNS, Int32(1))
    // The kernel chooses the local port in `connect`. There, the port must differ only from the ports of other
    // connections to the same server. In `bind`, it would have to differ from all ports of the address.
    set(Int32(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, Int32(1))
    try perform("bind", socket, bind, host, 0)
    try perform("connect", socket, connect, INADDR_LOOPBACK, port)
    return socket
}

/// Calls `bind` or `connect` with an address. `name` is the name of the call for the error.
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
