import CLinux
import Glibc
import Platform

/// From the host that an operator named to addresses.
enum HostLookup {
    /// All addresses that the host stands for, each once, IPv4 before IPv6: that is where most clients look first.
    ///
    /// Throws what the resolver says.
    static func addresses(of host: String, port: UInt16) throws(ListenError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            let text = gai_strerror(status).map { String(cString: $0) } ?? "error \(status)"
            throw ListenError(
                address: ListenAddress.tcp(host: host, port: port).description, reason: .unresolved(text))
        }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var seen: Set<ListenAddress> = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            guard let source = entry.ai_addr, let address = SocketAddress(source, entry.ai_addrlen),
                seen.insert(address.listenAddress).inserted
            else { continue }
            found.append(address)
        }
        return found.filter { $0.family == AF_INET } + found.filter { $0.family == AF_INET6 }
    }
}
