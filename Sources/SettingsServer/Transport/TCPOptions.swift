import CLinux
import Glibc
import Platform

/// What every TCP connection has.
///
/// Set on the socket that listens: on Linux what is accepted inherits it, so that it costs no call for a connection.
enum TCPOptions {
    /// Seconds without a byte after which the kernel asks whether the peer is still there. A peer whose machine or network
    /// went away says nothing, and one that waits for something to happen has no other deadline. A minute is also less than
    /// what gateways take to forget a silent connection, which is minutes.
    static let silence: Int32 = 60
    /// Seconds from one question to the next.
    static let interval: Int32 = 15
    /// Questions without an answer after which the connection is given up: a minute in which nothing comes through is no
    /// passing loss of packets. With `silence`, a peer that is gone is noticed within two minutes.
    static let questions: Int32 = 4

    static func set(on listener: Int32) throws(SystemError) {
        let tcp = Int32(IPPROTO_TCP)
        let options = [
            (SOL_SOCKET, SO_KEEPALIVE, 1), (tcp, TCP_KEEPIDLE, silence), (tcp, TCP_KEEPINTVL, interval),
            (tcp, TCP_KEEPCNT, questions),
            // Answers go out when they are written, not when the peer has acknowledged those before.
            (tcp, TCP_NODELAY, 1),
        ]
        for (level, name, value) in options {
            var value = value
            guard setsockopt(listener, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
                throw SystemError(call: "setsockopt", code: errno)
            }
        }
    }
}
