package import Platform

/// Why the daemon cannot listen somewhere.
package struct ListenError: Error, Hashable, Sendable {
    package enum Reason: Error, Hashable {
        /// The text is no address; with what is wrong about it.
        case malformed(String)
        /// The host name leads to no address; with what the resolver says.
        case unresolved(String)
        case refused(Listener.Failure)
    }

    /// As the operator wrote it.
    package let address: String
    package let reason: Reason

    /// Whether it is about a Unix domain socket.
    var isUnix: Bool { address.utf8.starts(with: ListenAddress.unixPrefix.utf8) }

    /// How such an address is written.
    var example: String { isUnix ? "unix:/run/settingsd/socket" : "127.0.0.1:7070" }
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
