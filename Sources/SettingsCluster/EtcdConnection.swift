internal import HTTPWire
internal import Platform
internal import SettingsModel

/// An address of a member of etcd: `http://10.0.0.5:2379`.
package struct EtcdEndpoint: Hashable, Sendable, CustomStringConvertible {
    private static let usualPort: UInt16 = 2379

    package let host: String
    package let port: UInt16

    /// Reads an address; nil if it is none. TLS is the work of a tunnel on this machine.
    package init?(_ text: String) {
        let scheme = "http://"
        guard text.hasBytePrefix(scheme) else { return nil }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let authority = Substring(rest.last == UInt8(ascii: "/") ? rest.dropLast() : rest)
        guard authority.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/?#@\\".utf8.contains($0) }),
            let parts = try? HostAndPort(authority)
        else { return nil }
        (host, port) = (parts.host, parts.port ?? Self.usualPort)
    }

    fileprivate var hostField: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    package var description: String { "http://\(hostField)" }
}

/// The error of a call that has no answer, or whose answer is a refusal.
package struct EtcdError: Error, Equatable, CustomStringConvertible {
    enum Outcome: Sendable {
        /// Nothing was done: the call was never sent, or etcd says so.
        case refused
        /// It was done, or not, or it may still be.
        case unknown
    }

    enum Cause: Sendable {
        case failed
        /// etcd has no space left.
        case full
        /// The token is missing, or is not valid any more.
        case token
        /// The member could not be reached: another may be.
        case unreachable
    }

    var outcome: Outcome
    var cause = Cause.failed
    /// What failed, with the member's address.
    package var description: String
}

/// A connection to a member of etcd that sends requests and reads what comes, each by a deadline.
///
/// The calling thread waits. One thread at a time uses it.
struct EtcdConnection: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A socket that copies of the connection share.
    private final class SharedSocket: Sendable {
        let socket: Socket

        init(_ socket: consuming Socket) {
            self.socket = socket
        }

        func connect(to address: SocketAddress, by deadline: Instant) -> Socket.ConnectState {
            let state = socket.connect(to: address)
            guard state == .inProgress else { return state }
            _ = PollSet.wait(for: .writable, on: socket.descriptor, until: deadline)
            return socket.connectionState()
        }
    }

    /// An answer may have many batches of a megabyte.
    private static let limits = MessageLimits(
        maximumHeadLength: 65_536, maximumFieldCount: 256, maximumBodyLength: 256 << 20)

    /// The ends of messages that another token helps against.
    private static let tokenErrors = ["user name is empty", "auth store is old"]

    let endpoint: EtcdEndpoint
    private let shared: SharedSocket
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// Connects to the first address of the host that takes the connection.
    init(to endpoint: EtcdEndpoint, by deadline: Instant) throws(EtcdError) {
        self.endpoint = endpoint
        let addresses: [SocketAddress]
        do throws(ResolveError) {
            addresses = try SocketAddress.resolve(endpoint.host, port: endpoint.port)
        } catch {
            throw EtcdError(outcome: .refused, cause: .unreachable, description: "\(endpoint): \(error.reason)")
        }
        var failure = "no address"
        var connected: SharedSocket?
        for address in addresses where connected == nil {
            do throws(SystemError) {
                let shared = SharedSocket(try Socket(for: address))
                switch shared.connect(to: address, by: deadline) {
                case .connected: connected = shared
                case .inProgress, .busy: failure = "no connection in time"
                case .failed(let code): failure = SystemError.text(code)
                }
            } catch {
                failure = SystemError.text(error.code)
            }
        }
        guard let connected else {
            throw EtcdError(outcome: .refused, cause: .unreachable, description: "\(endpoint): \(failure)")
        }
        shared = connected
    }

    /// True if the member has not ended the connection.
    var isUsable: Bool { shared.socket.hasNoInput }

    /// The number to wait on for what comes next.
    var descriptor: Int32 { shared.socket.descriptor }

    /// Returns an error about the member.
    func error(_ outcome: EtcdError.Outcome, _ reason: String, _ cause: EtcdError.Cause = .failed) -> EtcdError {
        EtcdError(outcome: outcome, cause: cause, description: "\(endpoint): \(reason)")
    }

    /// Sends a request, whole.
    func send(
        _ target: RequestTarget, _ body: [UInt8], token: String?, needsLeader: Bool = false, by deadline: Instant
    ) throws(EtcdError) {
        var request = Request(.post, target, body: body)
        if let token { request.fields.append("Authorization", text: token) }
        // Without it a member that has no majority keeps a watch open and silent.
        if needsLeader { request.fields.append("Grpc-Metadata-hasleader", "true") }
        let bytes = request.bytes(host: endpoint.hostField)
        var sent = 0
        while sent < bytes.count {
            guard let count = shared.socket.send(bytes.span.extracting(sent..<bytes.count)) else {
                throw error(sent == 0 ? .refused : .unknown, "the connection is lost", .unreachable)
            }
            sent += count
            guard count == 0 || sent < bytes.count else { break }
            guard PollSet.wait(for: .writable, on: descriptor, until: deadline) else {
                throw error(.unknown, "it takes nothing", .unreachable)
            }
        }
    }

    /// Reads the response to the request that was sent.
    mutating func response(by deadline: Instant) throws(EtcdError) -> Response {
        var reader = makeReader()
        while true {
            if let response = try receive(&reader, by: deadline) { return response }
            guard ContinuousClock.now < deadline else { throw error(.unknown, "no answer in time", .unreachable) }
        }
    }

    /// Makes a reader of the next response.
    func makeReader() -> ResponseReader { ResponseReader(limits: Self.limits) }

    /// Waits for bytes, and reads them. Returns the response once it is complete; nil if more is to come.
    ///
    /// - Parameter waker: a descriptor that ends the wait.
    mutating func receive(
        _ reader: inout ResponseReader, by deadline: Instant, waker: Int32 = -1
    ) throws(EtcdError) -> Response? {
        var set = PollSet()
        set.add(descriptor, .readable)
        set.add(waker, .readable)
        guard set.wait(until: deadline), set.isReady(0) else { return nil }
        let shared = shared
        switch buffer.withUnsafeMutableBytes({ shared.socket.receive(into: $0) }) {
        case .nothing: return nil
        case .bytes(let count):
            do throws(MessageError) {
                return try reader.read(buffer.span.extracting(0..<count))
            } catch {
                throw self.error(.unknown, "what it sends is no answer: \(error.reason)")
            }
        case .end:
            if let response = reader.end() { return response }
            throw error(.unknown, "it ended the connection", .unreachable)
        case .failed(let code): throw error(.unknown, SystemError.text(code), .unreachable)
        }
    }

    /// Reads a response as JSON. Throws the refusal or failure that it tells of.
    func json(_ response: Response) throws(EtcdError) -> JSONValue {
        let json = try? JSONValue(parsing: response.body)
        if response.status == 200 {
            guard let json else { throw error(.unknown, "its answer is no JSON") }
            return json
        }
        let message = json?["message"]?.string ?? json?["error"]?.string ?? "status \(response.status)"
        switch response.status {
        case 401: throw error(.refused, message, .token)
        case 400 where Self.tokenErrors.contains { message.hasByteSuffix($0) }: throw error(.refused, message, .token)
        // With code 8 it is no rate: the space is used up, or too much is under way.
        case 429 where message.contains("space exceeded"): throw error(.refused, message, .full)
        case 400, 403, 404, 412, 429: throw error(.refused, message)
        default: throw error(.unknown, message, .unreachable)
        }
    }
}

extension String {
    fileprivate func hasByteSuffix(_ suffix: String) -> Bool {
        utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }
}
