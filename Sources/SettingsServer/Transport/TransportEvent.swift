package import Platform

/// What an operator may want to know of the transport.
package enum TransportEvent: Sendable {
    /// There are no descriptors, or no memory, for further connections. Those that exist go on.
    case acceptPaused(SystemError)
    case acceptResumed
}
