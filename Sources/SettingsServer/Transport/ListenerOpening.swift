import Glibc
import Platform

/// From what an operator wrote to sockets that listen.
extension Listener {
    /// How often another port is tried where any will do.
    private static let attempts = 16

    /// Listens there: on every address that a host name stands for, all with the same port, so that a client finds the
    /// daemon whichever of them it looks at first.
    ///
    /// - Parameter socketMode: who may connect to a Unix domain socket.
    package static func open(_ address: ListenAddress, socketMode: UInt32 = 0o600) throws(ListenError) -> [Listener] {
        switch address {
        case .tcp(let host, let port): try open(HostLookup.addresses(of: host, port: port))
        case .unix(let path): [try Listener(unix: path, mode: socketMode)]
        }
    }

    /// Listens on all of these, which have the same port. Where that is 0, all take the one that the kernel chose for the
    /// first; if another program has it in the other family, the next choice may be free in both.
    static func open(
        _ addresses: [SocketAddress],
        bind: (SocketAddress) throws(SystemError) -> Listener = { address throws(SystemError) in try Listener(address) }
    ) throws(ListenError) -> [Listener] {
        for _ in 1..<attempts where addresses.first?.port == 0 {
            do throws(ListenError) {
                return try openAll(addresses, bind)
            } catch {
                guard case .system(let failure) = error.reason, failure.code == EADDRINUSE else { throw error }
            }
        }
        return try openAll(addresses, bind)
    }

    /// Those that fail close the others. An address of a family that this machine does not have is left out, unless there
    /// is no other: many name `localhost` in two families and have one.
    private static func openAll(
        _ addresses: [SocketAddress], _ bind: (SocketAddress) throws(SystemError) -> Listener
    ) throws(ListenError) -> [Listener] {
        var listeners: [Listener] = []
        var port = addresses.first?.port ?? 0
        var missing: ListenError?
        for var address in addresses {
            address.port = port
            do throws(SystemError) {
                listeners.append(try bind(address))
                port = try SocketAddress(of: listeners[listeners.count - 1].descriptor).port
            } catch {
                let failure = ListenError(address: address.listenAddress.description, reason: .system(error))
                guard [EAFNOSUPPORT, EADDRNOTAVAIL].contains(error.code) else { throw failure }
                missing = missing ?? failure
            }
        }
        if listeners.isEmpty, let missing { throw missing }
        return listeners
    }
}
