internal import SettingsModel
internal import Synchronization

/// What takes requests to servers that the sockets of this module cannot talk to: those of `https://`.
///
/// It stands beneath everything else. Whoever asks, asks as over a socket; deadlines, cancellation and going out later
/// are decided above it. The module has none of its own, as TLS costs every program megabytes.
package protocol Carrier: Sendable {
    /// Sends a request to a server, given as `https://host:port`. Nothing waits in here.
    ///
    /// - Parameter arrival: called once, on whatever thread; at most once if the request is cancelled.
    /// - Returns: what ends the request. It may be called at any time, and more than once.
    func carry(
        _ request: WireRequest, to server: String,
        arrival: @escaping @Sendable (Result<WireReply, CarrierFailure>) -> Void
    ) -> @Sendable () -> Void
}

/// Why a carrier brings no answer. What it does not know for certain it tells as the worse.
package enum CarrierFailure: Error, Hashable, Sendable {
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

    /// Why nothing goes out over `https://` without one.
    static let missing =
        "https:// needs the library SettingsClientHTTPS: add it to the target's dependencies, import it, and call "
        + "HTTPS.enable() once, before the first request"
}

/// A request that a carrier has, as something to wait for. It is ended when nobody holds it.
final class CarriedExchange: Sendable {
    private final class Inbox: Sendable {
        let pipe: WakePipe
        let result = Mutex<Result<WireReply, CarrierFailure>?>(nil)

        init(_ pipe: WakePipe) {
            self.pipe = pipe
        }
    }

    private let inbox: Inbox
    private let cancel: @Sendable () -> Void

    /// Sends the request; nil with `errno` set if the system has no descriptors left.
    init?(_ request: WireRequest, to server: String, by carrier: any Carrier) {
        guard let pipe = WakePipe() else { return nil }
        let inbox = Inbox(pipe)
        self.inbox = inbox
        cancel = carrier.carry(request, to: server) { result in
            inbox.result.withLock { $0 = result }
            inbox.pipe.wake()
        }
    }

    deinit {
        if result == nil { cancel() }
    }

    /// Readable when there is a result.
    var descriptor: Int32 { inbox.pipe.readEnd }

    var result: Result<WireReply, CarrierFailure>? { inbox.result.withLock { $0 } }
}
