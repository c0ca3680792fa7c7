package import HTTPWire
internal import Platform
internal import Synchronization

/// A transport that takes requests to servers of `https://` in the place of the module's own connections.
///
/// Deadlines, cancellation and repeats are decided above it, as over a socket.
package protocol Carrier: Sendable {
    /// Sends a request to a server, given as `https://host:port`, without waiting.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - server: the beginning of its URL.
    ///   - arrival: called once, on any thread; at most once if the request is cancelled.
    /// - Returns: a function that ends the request. It may be called at any time, and more than once.
    func carry(
        _ request: Request, to server: String,
        arrival: @escaping @Sendable (Result<Response, CarrierFailure>) -> Void
    ) -> @Sendable () -> Void
}

/// The reason why a carrier has no answer. It names the worse one where it does not know.
package enum CarrierFailure: Error, Equatable, Sendable {
    /// The server has not got all of the request, and will not: nothing has been done.
    case notSent(String)
    /// The connection ended, perhaps after the request and certainly before any of the answer.
    case lost(String)
    /// The answer is not complete, or nothing is known but that there is none.
    case broken(String)
    /// What came is no answer.
    case malformed(String)
}

/// The one carrier of the process.
package enum Carriers {
    private static let registered = Mutex<(any Carrier)?>(nil)

    static var current: (any Carrier)? { registered.withLock { $0 } }

    /// Makes the carrier of the process, unless there is one.
    package static func register(_ make: () -> any Carrier) {
        registered.withLock { if $0 == nil { $0 = make() } }
    }
}

/// A request that a carrier has, with a descriptor to wait on. Ends the request when its last owner lets go.
final class CarriedExchange: Sendable {
    private final class Inbox: Sendable {
        let waker: Waker
        let result = Mutex<Result<Response, CarrierFailure>?>(nil)

        init() throws(SystemError) {
            waker = try Waker()
        }
    }

    private let inbox: Inbox
    private let cancel: @Sendable () -> Void

    /// Sends the request. Throws if the system has no descriptors left.
    init(_ request: Request, to server: String, by carrier: any Carrier) throws(SystemError) {
        let inbox = try Inbox()
        self.inbox = inbox
        cancel = carrier.carry(request, to: server) { result in
            inbox.result.withLock { $0 = result }
            inbox.waker.wake()
        }
    }

    deinit {
        if result == nil { cancel() }
    }

    /// Readable when there is a result.
    var descriptor: Int32 { inbox.waker.descriptor }

    var result: Result<Response, CarrierFailure>? { inbox.result.withLock { $0 } }
}
