package import Platform

/// An address to listen on, parsed from a text such as `[::1]:7070`, `localhost:7070` or `unix:/run/settingsd.sock`.
package enum ListenAddress: Hashable, Sendable {
    /// A host name or a numeric address without brackets. With port 0, the kernel chooses a port.
    case tcp(host: String, port: UInt16)
    case unix(path: String)

    static let unixPrefix = "unix:"
    private static let missingHost =
        "the host is missing; use 127.0.0.1 for this machine only, or 0.0.0.0 for all IPv4 interfaces"

    package init(_ text: String) throws(ListenError) {
        func malformed(_ reason: String) -> ListenError { ListenError(address: text, reason: .malformed(reason)) }
        let bytes = Array(text.utf8)
        if bytes.starts(with: Self.unixPrefix.utf8) {
            let path = bytes.dropFirst(Self.unixPrefix.utf8.count)
            // A relative path would depend on the working directory, and "unix:7070" could mean a port.
            guard path.first == UInt8(ascii: "/"), !path.contains(0) else {
                throw malformed("the path must begin with / and must not contain a null character")
            }
            guard path.count <= SocketAddress.maximumPathLength else {
                throw malformed("the path has \(path.count) bytes, more than \(SocketAddress.maximumPathLength) bytes")
            }
            self = .unix(path: String(decoding: path, as: UTF8.self))
            return
        }
        let hostAndPort: HostAndPort
        do throws(HostAndPort.ParseError) {
            hostAndPort = try HostAndPort(text[...])
        } catch {
            switch error {
            case .emptyHost: throw malformed(Self.missingHost)
            case .invalidPort: throw malformed("the port must be a number from 0 to 65535")
            case .misplacedBracketOrColon:
                throw malformed("it must be HOST:PORT, and an IPv6 address must be in brackets, for example [::1]:7070")
            }
        }
        guard let port = hostAndPort.port else {
            // A number without a colon is probably a port.
            let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            throw malformed(isNumber ? Self.missingHost : "the port is missing")
        }
        self = .tcp(host: hostAndPort.host, port: port)
    }

    /// Converts the address of a listener, which is numeric.
    package init(_ address: SocketAddress) {
        switch address {
        case .tcp(_, let port): self = .tcp(host: address.host, port: port)
        case .unix(let path): self = .unix(path: path)
        }
    }

    /// True if only programs on this machine can connect: for a Unix domain socket and for a numeric loopback address.
    package var isLocal: Bool {
        guard case .tcp(let host, _) = self else { return true }
        // The prefix of an IPv4 address that is written as an IPv6 address.
        let mappedPrefix = "::ffff:"
        let withoutPrefix = host.hasPrefix(mappedPrefix) ? String(host.dropFirst(mappedPrefix.count)) : host
        return host == "::1" || withoutPrefix.hasPrefix("127.")
    }

    /// The address in a form that clients accept: a URL for TCP, and `unix:` with a path for a Unix domain socket.
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

/// The error if the daemon cannot listen on an address.
package struct ListenError: Error, Equatable, Sendable {
    package enum Reason: Error, Equatable {
        /// The text is not a valid address. The value describes the mistake.
        case malformed(String)
        /// The host name has no address. The value is the message of the resolver.
        case unresolved(String)
        /// The system refused the address, or the path of the Unix domain socket belongs to a file or another program.
        case refused(Listener.Failure)
    }

    /// The address in the text format of `ListenAddress`.
    package let address: String
    package let reason: Reason

    package init(address: String, reason: Reason) {
        (self.address, self.reason) = (address, reason)
    }

    package var isUnix: Bool { address.utf8.starts(with: ListenAddress.unixPrefix.utf8) }

    /// A valid address of the same kind, for error messages.
    package var example: String { isUnix ? "unix:/run/settingsd/socket" : "127.0.0.1:7070" }
}

extension ListenError: CustomStringConvertible {
    package var description: String {
        switch reason {
        case .malformed(let text): "cannot listen on \"\(address)\": \(text)"
        case .unresolved(let text): "cannot listen on \(address): the host name is not known: \(text)"
        case .refused(.system(let error)): "cannot listen on \(address): \(error)"
        case .refused(.occupied(let text)): "cannot listen on \(address): \(text)"
        }
    }
}

extension Listener {
    /// The number of attempts to find a port that is free on all addresses of a host.
    private static let attempts = 16

    /// Listens on all addresses of a host name with the same port, because a client may try any address first.
    ///
    /// - Parameter socketMode: the file mode of a Unix domain socket. Users with write permission may connect.
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

    /// Returns the addresses of a host, IPv4 first, because most clients can use IPv4, and because the list of the
    /// daemons that share their data shows only the first address of each daemon.
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

    /// Listens on several addresses with the same port. If the port is 0, the kernel chooses a port for the first
    /// address, and the other addresses use the same port. If another address already uses this port, the kernel
    /// chooses again. Tests replace `bind`, which listens on one address.
    static func open(
        _ addresses: [SocketAddress],
        bind: (SocketAddress) throws(Failure) -> Listener = { address throws(Failure) in try Listener(address) }
    ) throws(ListenError) -> [Listener] {
        for _ in 1..<attempts where addresses.first?.port == 0 {
            do throws(ListenError) {
                return try openAll(addresses, bind)
            } catch {
                guard case .refused(.system(let failure)) = error.reason, failure.code == SystemErrorCode.addressInUse
                else { throw error }
            }
        }
        return try openAll(addresses, bind)
    }

    /// Listens on all addresses. Skips addresses that this machine does not have, or whose address family it does not
    /// support, because `localhost` often has an IPv6 address on a machine without IPv6. Throws if no address remains.
    private static func openAll(
        _ addresses: [SocketAddress], _ bind: (SocketAddress) throws(Failure) -> Listener
    ) throws(ListenError) -> [Listener] {
        var listeners: [Listener] = []
        var firstUnsupported: ListenError?
        for address in addresses {
            let address = address.with(port: listeners.first?.address.port ?? address.port)
            do throws(Failure) {
                listeners.append(try bind(address))
            } catch {
                let failure = ListenError(address: address.description, reason: .refused(error))
                guard case .system(let cause) = error,
                    cause.code == SystemErrorCode.addressFamilyNotSupported
                        || cause.code == SystemErrorCode.addressNotAvailable
                else { throw failure }
                firstUnsupported = firstUnsupported ?? failure
            }
        }
        if listeners.isEmpty, let firstUnsupported { throw firstUnsupported }
        return listeners
    }
}
