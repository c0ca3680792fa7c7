internal import HTTPWire
internal import Platform
internal import SettingsModel

/// The address of a member (a server) of the etcd cluster, such as `http://10.0.0.5:2379`.
package struct EtcdEndpoint: Hashable, Sendable, CustomStringConvertible {
    private static let defaultPort: UInt16 = 2379

    package let host: String
    package let port: UInt16

    /// Parses an address; nil if it is not valid. `https` is not valid: TLS requires a tunnel on this machine.
    package init?(_ text: String) {
        let scheme = "http://"
        guard text.hasBytePrefix(scheme) else { return nil }
        let remainder = text.utf8.dropFirst(scheme.utf8.count)
        let authority = Substring(remainder.last == UInt8(ascii: "/") ? remainder.dropLast() : remainder)
        guard authority.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/?#@\\".utf8.contains($0) }),
            let parts = try? HostAndPort(authority)
        else { return nil }
        (host, port) = (parts.host, parts.port ?? Self.defaultPort)
    }

    fileprivate var hostField: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    package var description: String { "http://\(hostField)" }
}

/// The error of a call that etcd did not answer, answered with an error, or answered with data that cannot be used.
package struct EtcdError: Error, Equatable, CustomStringConvertible {
    enum Outcome: Sendable {
        /// The call did not change etcd: the client did not send it, etcd refused it, or the call only reads.
        case noEffect
        /// etcd may have executed the call, or may still execute it. A failed call that only reads can also have this
        /// outcome.
        case unknown
    }

    enum Cause: Sendable {
        /// A cause other than the causes below.
        case failed
        /// The database of etcd has reached its quota.
        case full
        /// The authentication token is missing or no longer valid.
        case token
        /// The client cannot reach the member, or the member does not work. Another member may work.
        case memberFailed
    }

    var outcome: Outcome
    var cause = Cause.failed
    /// A description of the failure. It begins with the address of the member if ``EtcdConnection`` made the error.
    package var description: String
}

/// An HTTP connection to a member of etcd.
///
/// Each call blocks the calling thread until its deadline at most. Only the lookup of a host name in ``init(to:by:)``
/// has no deadline. Not thread-safe.
struct EtcdConnection: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Contains the socket, which cannot be copied. Copies of the connection share the object.
    private final class SharedSocket: Sendable {
        let socket: Socket

        init(_ socket: consuming Socket) { self.socket = socket }

        func connect(to address: SocketAddress, by deadline: Instant) -> Socket.ConnectState {
            let state = socket.connect(to: address)
            guard state == .inProgress else { return state }
            _ = PollSet.wait(for: .writable, on: socket.descriptor, until: deadline)
            return socket.connectionState()
        }
    }

    /// The limits of a response. The body limit is high, because a read may return many values of up to a megabyte.
    private static let limits = MessageLimits(
        maximumHeadLength: 65_536, maximumFieldCount: 256, maximumBodyLength: 256 << 20)

    /// The suffixes of the error messages with status 400 after which the client must request a new token.
    private static let tokenErrors = ["user name is empty", "auth store is old"]

    let endpoint: EtcdEndpoint
    private let shared: SharedSocket
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// Connects to the first address of the host that accepts the connection.
    init(to endpoint: EtcdEndpoint, by deadline: Instant) throws(EtcdError) {
        self.endpoint = endpoint
        let addresses: [SocketAddress]
        do throws(ResolveError) {
            addresses = try SocketAddress.resolve(endpoint.host, port: endpoint.port)
        } catch {
            throw EtcdError(outcome: .noEffect, cause: .memberFailed, description: "\(endpoint): \(error.reason)")
        }
        var failure = "the host name has no address"
        var connected: SharedSocket?
        for address in addresses where connected == nil {
            do throws(SystemError) {
                let shared = SharedSocket(try Socket(for: address))
                switch shared.connect(to: address, by: deadline) {
                case .connected: connected = shared
                // `busy` occurs only for Unix domain sockets.
                case .inProgress, .busy: failure = "timed out while connecting"
                case .failed(let code): failure = SystemError.text(code)
                }
            } catch { failure = SystemError.text(error.code) }
        }
        guard let connected else {
            throw EtcdError(outcome: .noEffect, cause: .memberFailed, description: "\(endpoint): \(failure)")
        }
        shared = connected
    }

    /// True if the member has neither closed the connection nor sent bytes since the last response.
    var isUsable: Bool { shared.socket.hasNoInput }

    var descriptor: Int32 { shared.socket.descriptor }

    func makeError(_ outcome: EtcdError.Outcome, _ reason: String, _ cause: EtcdError.Cause = .failed) -> EtcdError {
        EtcdError(outcome: outcome, cause: cause, description: "\(endpoint): \(reason)")
    }

    /// Sends a whole request.
    ///
    /// - Parameters:
    ///   - token: the authentication token; nil if etcd requires no password.
    ///   - needsLeader: true if the member must refuse or end the request while it has no connection to the leader.
    func send(
        _ target: RequestTarget, _ body: [UInt8], token: String?, needsLeader: Bool = false, by deadline: Instant
    ) throws(EtcdError) {
        var request = Request(.post, target, body: body)
        if let token { request.fields.append("Authorization", text: token) }
        // Without this field, a member that has lost the majority keeps a watch open but sends nothing.
        if needsLeader { request.fields.append("Grpc-Metadata-hasleader", "true") }
        let bytes = request.bytes(host: endpoint.hostField)
        var sent = 0
        while sent < bytes.count {
            guard let count = shared.socket.send(bytes.span.extracting(sent..<bytes.count)) else {
                throw makeError(sent == 0 ? .noEffect : .unknown, "the connection was lost", .memberFailed)
            }
            sent += count
            guard count == 0 || sent < bytes.count else { break }
            // The send buffer of the socket is full.
            guard PollSet.wait(for: .writable, on: descriptor, until: deadline) else {
                throw makeError(.unknown, "timed out while sending the request", .memberFailed)
            }
        }
    }

    /// Reads the response to the request that was sent last.
    mutating func readResponse(by deadline: Instant) throws(EtcdError) -> Response {
        var reader = makeReader()
        while true {
            if let response = try receive(&reader, by: deadline) { return response }
            guard ContinuousClock.now < deadline else {
                throw makeError(.unknown, "timed out waiting for the response", .memberFailed)
            }
        }
    }

    func makeReader() -> ResponseReader { ResponseReader(limits: Self.limits) }

    /// Waits for bytes, and parses them. Returns the response if it is complete; nil if the calling code must call
    /// again.
    ///
    /// - Parameter waker: a descriptor that ends the wait when it becomes readable; -1 for none.
    mutating func receive(
        _ reader: inout ResponseReader, by deadline: Instant, waker: Int32 = -1
    ) throws(EtcdError) -> Response? {
        var polled = PollSet()
        polled.add(descriptor, .readable)
        polled.add(waker, .readable)
        guard polled.wait(until: deadline), polled.isReady(0) else { return nil }
        let shared = shared
        switch buffer.withUnsafeMutableBytes({ shared.socket.receive(into: $0) }) {
        case .nothing: return nil
        case .bytes(let count):
            do throws(MessageError) {
                return try reader.read(buffer.span.extracting(0..<count))
            } catch { throw makeError(.unknown, "the response is not valid HTTP: \(error.reason)") }
        case .end:
            if let response = reader.receiveEnd() { return response }
            throw makeError(.unknown, "the member closed the connection", .memberFailed)
        case .failed(let code): throw makeError(.unknown, SystemError.text(code), .memberFailed)
        }
    }

    /// Parses the body of a response as JSON. Throws the error that the response reports, if any.
    func parseJSON(of response: Response) throws(EtcdError) -> JSONValue {
        let json = try? JSONValue(parsing: response.body)
        if response.status == 200 {
            guard let json else { throw makeError(.unknown, "the response is not valid JSON") }
            return json
        }
        let message = json?["message"]?.string ?? json?["error"]?.string ?? "status \(response.status)"
        switch response.status {
        case 401: throw makeError(.noEffect, message, .token)
        case 400 where Self.tokenErrors.contains { message.hasByteSuffix($0) }:
            throw makeError(.noEffect, message, .token)
        // etcd answers 429 if its database is full, and also if it has too many requests in progress.
        case 429 where message.contains("space exceeded"): throw makeError(.noEffect, message, .full)
        case 400, 403, 404, 412, 429: throw makeError(.noEffect, message)
        default: throw makeError(.unknown, message, .memberFailed)
        }
    }
}

extension String {
    fileprivate func hasByteSuffix(_ suffix: String) -> Bool {
        utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }
}
