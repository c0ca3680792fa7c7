internal import Platform
@_exported public import SettingsAPI
@_exported public import SettingsModel

/// A client that sends requests to a daemon. Each request is an ``Endpoint``.
///
/// `try await client.send(.suite(name))` waits without blocking a thread, and ends when its task is cancelled.
/// `try client.blocking.send(.suite(name))` blocks the calling thread, for programs without tasks. The client opens
/// connections when it needs them. It closes idle connections after a while, and all connections when it is released.
public final class DaemonClient: Sendable {
    /// The address of the daemon.
    public let address: ServerAddress
    /// The maximum duration of a request, in addition to ``Endpoint/wait``.
    let timeout: Duration
    let pool: ConnectionPool
    private let reader: AnswerReader

    /// Creates a client. It opens no connection before the first request.
    ///
    /// - Parameters:
    ///   - address: the address of the daemon. By default `http://127.0.0.1:7070`.
    ///   - token: the token for a daemon with access control. By default ``AccessToken/standard``.
    ///   - timeout: the maximum duration of a request. If a request asks the daemon to wait, the time of this wait is
    ///     added.
    public convenience init(
        _ address: ServerAddress = .usual, token: AccessToken? = nil, timeout: Duration = .seconds(10)
    ) {
        self.init(ConnectionPool(address, token: token), timeout: timeout)
    }

    /// Creates a client of the daemon at an address such as `http://127.0.0.1:7070` or `unix:/run/settingsd.sock`.
    ///
    /// - Parameters:
    ///   - url: the address of the daemon.
    ///   - token: the token for a daemon with access control. By default ``AccessToken/standard``.
    ///   - timeout: the maximum duration of a request. If a request asks the daemon to wait, the time of this wait is
    ///     added.
    public convenience init(
        _ url: String, token: AccessToken? = nil, timeout: Duration = .seconds(10)
    ) throws(ServerAddressError) {
        self.init(try ServerAddress(url), token: token, timeout: timeout)
    }

    init(_ pool: ConnectionPool, timeout: Duration, reader: AnswerReader = .shared) {
        self.pool = pool
        address = pool.address
        self.timeout = timeout
        self.reader = reader
    }

    /// Returns a client with another timeout. Both clients share their connections.
    public func withTimeout(_ timeout: Duration) -> DaemonClient {
        DaemonClient(pool, timeout: timeout, reader: reader)
    }

    /// Sends a request and returns the content of its answer. Throws `cancelled` when the task is cancelled.
    @discardableResult
    public func send<Output>(_ endpoint: Endpoint<Output>) async throws(SettingsError) -> Output {
        var endpoint = endpoint
        while true {
            let asyncRequest = asyncRequest(endpoint)
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    asyncRequest.start { continuation.resume(returning: $0) }
                }
            } onCancel: {
                asyncRequest.cancel()
            }
            switch try step(after: result, endpoint) {
            case .answer(let output): return output
            case .next(let next): endpoint = next
            }
        }
    }

    /// The blocking variant of this client.
    public var blocking: Blocking { Blocking(client: self) }

    /// The blocking variant of a client: `send` blocks the calling thread until the answer arrives or the timeout
    /// passes.
    public struct Blocking: Sendable {
        let client: DaemonClient

        /// Sends a request and returns the content of its answer.
        ///
        /// If a gateway answers that it cannot reach the daemon, the client repeats a read, or a write with an
        /// idempotency key, up to twice. The async `send` throws this answer as an error at once.
        @discardableResult
        public func send<Output>(_ endpoint: Endpoint<Output>) throws(SettingsError) -> Output {
            var endpoint = endpoint
            while true {
                let (pool, deadline) = (client.pool, client.deadline(of: endpoint))
                let result = Result { () throws(SettingsError) in try pool.exchange(endpoint.request, by: deadline) }
                switch try client.step(after: result, endpoint) {
                case .answer(let output): return output
                case .next(let next): endpoint = next
                }
            }
        }
    }

    /// Returns an object that sends the request without blocking a thread. The caller starts the request.
    func asyncRequest<Output>(_ endpoint: Endpoint<Output>) -> AsyncRequest {
        AsyncRequest(endpoint.request, pool, by: deadline(of: endpoint), reader: reader)
    }

    private func step<Output>(
        after result: Result<Reply, SettingsError>, _ endpoint: Endpoint<Output>
    ) throws(SettingsError) -> Endpoint<Output>.Step {
        do throws(SettingsError) {
            return try endpoint.step(try result.get())
        } catch {
            throw error.withAddress(address)
        }
    }

    func deadline<Output>(of endpoint: Endpoint<Output>) -> ContinuousClock.Instant {
        .now + timeout.bounded + .seconds(endpoint.wait.bounded.wholeSeconds)
    }
}

extension ServerAddress {
    /// Returns the address in the environment variable `SETTINGS_URL`. If the variable is not set or is empty, returns
    /// the default address `http://127.0.0.1:7070`.
    public static func fromEnvironment() throws(ServerAddressError) -> ServerAddress {
        try from(variable: EnvironmentVariables.value(of: Self.variable))
    }
}
