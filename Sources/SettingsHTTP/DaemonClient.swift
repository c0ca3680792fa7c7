internal import Platform
@_exported public import SettingsAPI
@_exported public import SettingsModel

/// A client that sends the requests of the HTTP interface to a daemon. Each is an ``Endpoint``, sent in one of two forms.
///
/// `try await client.send(.suite(name))` waits without keeping a thread, and ends when its task is cancelled;
/// `try client.blocking.send(.suite(name))` sends and receives on the calling thread, for programs without tasks.
/// A client opens connections when they are needed and closes them when they are idle, and when it goes itself.
public final class DaemonClient: Sendable {
    /// Where the daemon is.
    public let address: ServerAddress
    /// How long a request may take, beyond what it asks the daemon to wait.
    let timeout: Duration
    let pool: ConnectionPool
    private let reader: AnswerReader

    /// A client of a daemon. Nothing is sent until something is asked.
    ///
    /// - Parameters:
    ///   - address: where the daemon is.
    ///   - token: the token to present; by default that of the process.
    ///   - timeout: how long a request may take.
    public convenience init(
        _ address: ServerAddress = .usual, token: AccessToken? = nil, timeout: Duration = .seconds(10)
    ) {
        self.init(ConnectionPool(address, token: token), timeout: timeout)
    }

    /// A client of the daemon at an address such as `http://127.0.0.1:7070` or `unix:/run/settingsd.sock`.
    ///
    /// - Parameters:
    ///   - url: where the daemon is.
    ///   - token: the token to present; by default that of the process.
    ///   - timeout: how long a request may take.
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

    /// A client that shares the connections of this one and has another timeout.
    public func withTimeout(_ timeout: Duration) -> DaemonClient {
        DaemonClient(pool, timeout: timeout, reader: reader)
    }

    /// Sends a request and returns the content of the answer. Throws `cancelled` when the task is cancelled.
    @discardableResult
    public func send<Output>(_ endpoint: Endpoint<Output>) async throws(SettingsError) -> Output {
        var endpoint = endpoint
        while true {
            let poll = poll(endpoint)
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    poll.start { continuation.resume(returning: $0) }
                }
            } onCancel: {
                poll.cancel()
            }
            switch try step(after: result, endpoint) {
            case .answer(let output): return output
            case .next(let next): endpoint = next
            }
        }
    }

    /// A client for callers that may block.
    public var blocking: Blocking { Blocking(client: self) }

    /// A client whose calls block the calling thread until the answer arrives or the deadline passes.
    public struct Blocking: Sendable {
        let client: DaemonClient

        /// Sends a request and returns the content of the answer.
        ///
        /// Repeats a request if a gateway answers that it cannot reach the daemon, and if the repeat is safe: if the request
        /// is a read or has an idempotency key.
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

    /// Returns a request that waits without a thread. The caller starts the request.
    func poll<Output>(_ endpoint: Endpoint<Output>) -> LongPoll {
        LongPoll(endpoint.request, pool, by: deadline(of: endpoint), reader: reader)
    }

    private func step<Output>(
        after result: Result<Reply, SettingsError>, _ endpoint: Endpoint<Output>
    ) throws(SettingsError) -> Endpoint<Output>.Step {
        do throws(SettingsError) {
            return try endpoint.step(try result.get())
        } catch {
            throw error.at(address)
        }
    }

    func deadline<Output>(of endpoint: Endpoint<Output>) -> ContinuousClock.Instant {
        .now + timeout.bounded + .seconds(endpoint.wait.bounded.wholeSeconds)
    }
}

extension ServerAddress {
    /// The address in `SETTINGS_URL` of the environment, else the usual one. An empty variable says nothing.
    public static func fromEnvironment() throws(ServerAddressError) -> ServerAddress {
        try from(variable: EnvironmentVariables.value(of: variable))
    }
}
