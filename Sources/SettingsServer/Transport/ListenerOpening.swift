internal import Glibc
package import Platform

/// From what an operator wrote to sockets that listen.
extension Listener {
    /// How often another port is tried where any will do.
    private static let attempts = 16

    /// Listens on every address that a host name stands for, all with the same port, so that a client finds the daemon
    /// whichever of them it tries first.
    ///
    /// - Parameter socketMode: who may connect to a Unix domain socket.
    package static func open(_ address: ListenAddress, socketMode: UInt32 = 0o600) throws(ListenError) -> [Listener] {
        switch address {
        case .tcp(let host, let port):
            return try open(addresses(of: host, port: port))
        case .unix(let path):
            let address = SocketAddress.unix(path: path)
            do throws(Failure) {
                return [try Listener(address, mode: socketMode)]
            } catch {
                throw ListenError(address: address.description, reason: .refused(error))
            }
        }
    }

    /// The addresses of a host, IPv4 before IPv6: most clients try that first.
    static func addresses(of host: String, port: UInt16) throws(ListenError) -> [SocketAddress] {
        let found: [SocketAddress]
        do throws(ResolveError) {
            found = try SocketAddress.resolve(host, port: port)
        } catch {
            let address = ListenAddress.tcp(host: host, port: port)
            throw ListenError(address: address.description, reason: .unresolved(error.reason))
        }
        return found.filter(\.isIPv4) + found.filter { !$0.isIPv4 }
    }

    /// Listens on all of these, which have the same port. Where that is 0, all take the one that the kernel chose for the
    /// first; if another program has it in the other family, the next choice may be free in both.
    static func open(
        _ addresses: [SocketAddress],
        bind: (SocketAddress) throws(Failure) -> Listener = { address throws(Failure) in try Listener(address) }
    ) throws(ListenError) -> [Listener] {
        for _ in 1..<attempts where addresses.first?.port == 0 {
            do throws(ListenError) {
                return try openAll(addresses, bind)
            } catch {
                guard case .refused(.system(let failure)) = error.reason, failure.code == EADDRINUSE else {
                    throw error
                }
            }
        }
        return try openAll(addresses, bind)
    }

    /// An address of a family that this machine does not have is left out, unless there is no other: many name `localhost`
    /// in two families and have one.
    private static func openAll(
        _ addresses: [SocketAddress], _ bind: (SocketAddress) throws(Failure) -> Listener
    ) throws(ListenError) -> [Listener] {
        var listeners: [Listener] = []
        var missing: ListenError?
        for address in addresses {
            let address = address.with(port: listeners.first?.address.port ?? address.port)
            do throws(Failure) {
                listeners.append(try bind(address))
            } catch {
                let failure = ListenError(address: address.description, reason: .refused(error))
                guard case .system(let cause) = error, [EAFNOSUPPORT, EADDRNOTAVAIL].contains(cause.code) else {
                    throw failure
                }
                missing = missing ?? failure
            }
        }
        if listeners.isEmpty, let missing { throw missing }
        return listeners
    }
}
