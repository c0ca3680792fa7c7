package import Platform

/// Where to listen, as an operator writes it: `127.0.0.1:7070`, `[::1]:7070`, `localhost:7070`, `unix:/run/settingsd.sock`.
package enum ListenAddress: Hashable, Sendable {
    /// A host name or a numeric address (IPv6 without its brackets). Port 0 lets the kernel choose one.
    case tcp(host: String, port: UInt16)
    /// A Unix domain socket.
    case unix(path: String)

    /// What stands before the path of a Unix domain socket.
    static let unixPrefix = "unix:"

    /// Throws a `ListenError` that says what is missing.
    package init(_ text: String) throws(ListenError) {
        func bad(_ reason: String) -> ListenError { ListenError(address: text, reason: .malformed(reason)) }
        let bytes = Array(text.utf8)
        if bytes.starts(with: Self.unixPrefix.utf8) {
            let path = bytes.dropFirst(Self.unixPrefix.utf8.count)
            // A relative one would depend on where the daemon was started, and "unix:7070" looks like a port.
            guard path.first == UInt8(ascii: "/"), !path.contains(0) else { throw bad("a path begins with /") }
            guard path.count <= SocketAddress.maximumPathLength else {
                throw bad("the path has \(path.count) bytes, more than \(SocketAddress.maximumPathLength)")
            }
            self = .unix(path: String(decoding: path, as: UTF8.self))
            return
        }
        let place: HostAndPort
        do throws(HostAndPort.Fault) {
            place = try HostAndPort(text[...])
        } catch {
            switch error {
            case .noHost: throw bad("a host is missing: 127.0.0.1 for this machine, 0.0.0.0 for everyone")
            case .noPort: throw bad("a port is a number from 0 to 65535")
            case .noBrackets: throw bad("an IPv6 address stands in brackets: [::1]:7070")
            }
        }
        guard let port = place.port else { throw bad("a port is missing: write host:port") }
        self = .tcp(host: place.host, port: port)
    }

    /// The address that a listener has, in figures.
    package init(_ address: SocketAddress) {
        switch address {
        case .tcp(_, let port): self = .tcp(host: address.host, port: port)
        case .unix(let path): self = .unix(path: path)
        }
    }

    /// True if only programs on this machine can reach it: a Unix domain socket, or an address of loopback in figures.
    package var isLocal: Bool {
        guard case .tcp(let host, _) = self else { return true }
        let mapped = "::ffff:"
        return host == "::1" || (host.hasPrefix(mapped) ? String(host.dropFirst(mapped.count)) : host).hasPrefix("127.")
    }

    /// For the log: what a client is given, where there is such a thing.
    package var location: String {
        switch self {
        case .tcp: "http://\(self)"
        case .unix: description
        }
    }
}

extension ListenAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tcp(let host, let port): host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): Self.unixPrefix + path
        }
    }
}

/// Why the daemon cannot listen somewhere.
package struct ListenError: Error, Equatable, Sendable {
    package enum Reason: Error, Equatable {
        /// The text is no address; with what is wrong about it.
        case malformed(String)
        /// The host name leads to no address; with what the resolver says.
        case unresolved(String)
        case refused(Listener.Failure)
    }

    /// As the operator wrote it.
    package let address: String
    package let reason: Reason

    package init(address: String, reason: Reason) {
        (self.address, self.reason) = (address, reason)
    }

    /// Whether it is about a Unix domain socket.
    package var isUnix: Bool { address.utf8.starts(with: ListenAddress.unixPrefix.utf8) }

    /// How such an address is written.
    package var example: String { isUnix ? "unix:/run/settingsd/socket" : "127.0.0.1:7070" }
}

extension ListenError: CustomStringConvertible {
    package var description: String {
        switch reason {
        case .malformed(let text): "cannot listen on \"\(address)\": \(text)"
        case .unresolved(let text): "cannot listen on \(address): the host is not known: \(text)"
        case .refused(.system(let error)): "cannot listen on \(address): \(error)"
        case .refused(.occupied(let text)): "cannot listen on \(address): \(text)"
        }
    }
}

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
    package static func addresses(of host: String, port: UInt16) throws(ListenError) -> [SocketAddress] {
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
                guard case .refused(.system(let failure)) = error.reason, failure.code == SystemErrorCode.addressInUse
                else {
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
                guard case .system(let cause) = error,
                    cause.code == SystemErrorCode.addressFamilyNotSupported
                        || cause.code == SystemErrorCode.addressNotAvailable
                else {
                    throw failure
                }
                missing = missing ?? failure
            }
        }
        if listeners.isEmpty, let missing { throw missing }
        return listeners
    }
}
