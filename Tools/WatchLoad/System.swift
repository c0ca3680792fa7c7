import CLinux
import Glibc

/// An error that names the call's reason.
func systemFailure(_ what: String) -> LoadFailure {
    LoadFailure("\(what): \(String(cString: strerror(errno)))")
}

/// Seconds of a clock that nobody sets.
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
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
