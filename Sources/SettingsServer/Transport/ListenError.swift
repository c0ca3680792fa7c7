/// Why the daemon cannot listen somewhere.
package struct ListenError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// The text is no address; with what is wrong about it.
        case malformed(String)
        /// The host name leads to no address; with what the resolver says.
        case unresolved(String)
        /// The kernel refused.
        case system(SystemError)
    }

    /// As the operator wrote it.
    package let address: String
    package let reason: Reason
}

extension ListenError: CustomStringConvertible {
    package var description: String {
        switch reason {
        case .malformed(let text): "cannot listen on \"\(address)\": \(text)"
        case .unresolved(let text): "cannot listen on \(address): the host is not known: \(text)"
        case .system(let error): "cannot listen on \(address): \(error)"
        }
    }
}
