internal import Glibc

/// An address as the kernel takes it.
struct SocketAddress: Sendable {
    private var storage = sockaddr_storage()
    private var length: socklen_t

    var family: Int32 { Int32(storage.ss_family) }

    /// The address of a Unix domain socket. `ServerAddress` has made sure that the path fits.
    init(unixPath path: String) {
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        withUnsafeMutableBytes(of: &storage) { storage in
            withUnsafeBytes(of: address) { storage.copyMemory(from: $0) }
        }
    }

    private init?(_ source: UnsafePointer<sockaddr>, _ length: socklen_t) {
        guard Int(length) <= MemoryLayout<sockaddr_storage>.size else { return nil }
        self.length = length
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: source, count: Int(length)))
        }
    }

    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

extension SocketAddress: Equatable {
    static func == (left: SocketAddress, right: SocketAddress) -> Bool {
        guard left.length == right.length else { return false }
        return withUnsafeBytes(of: left.storage) { left in
            withUnsafeBytes(of: right.storage) { left.elementsEqual($0) }
        }
    }
}

/// From hosts to addresses.
extension SocketAddress {
    struct LookupFailure: Error {
        let reason: String
    }

    /// The addresses that need no question to anybody; nil for a name that has to be looked up.
    static func known(for address: ServerAddress) -> [SocketAddress]? {
        switch address.kind {
        case .unix(let path): [SocketAddress(unixPath: path)]
        // Whoever carries the requests looks for itself.
        case .https: []
        case .tcp("localhost", let port):
            // This machine by definition, so that nobody is asked. Most servers listen on IPv4 if on one of them.
            ["127.0.0.1", "::1"].flatMap { (try? lookUp($0, port, AI_NUMERICHOST)) ?? [] }
        case .tcp(let host, let port): try? lookUp(host, port, AI_NUMERICHOST)
        }
    }

    /// Asks the resolver, which may take its time.
    static func lookUp(_ host: String, _ port: UInt16) throws(LookupFailure) -> [SocketAddress] {
        try lookUp(host, port, 0)
    }

    private static func lookUp(
        _ host: String, _ port: UInt16, _ flags: Int32
    ) throws(LookupFailure) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            let text = gai_strerror(status).map { String(cString: $0) } ?? "error \(status)"
            throw LookupFailure(reason: "\(host): \(text)")
        }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            if let source = entry.ai_addr, let address = SocketAddress(source, entry.ai_addrlen) {
                found.append(address)
            }
        }
        return found
    }
}
