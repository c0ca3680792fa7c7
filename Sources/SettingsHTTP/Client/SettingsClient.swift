internal import Glibc
public import SettingsModel

/// Everything that a daemon can be asked, as typed Swift.
///
/// Each request exists twice. `try await client.suite(name)` waits without keeping a thread, and ends when its task is
/// cancelled; `try client.blocking.suite(name)` sends and receives on the thread that calls it, for programs without tasks.
/// A client opens connections when they are needed and closes them when they are idle, and when it goes itself.
public final class SettingsClient: Sendable {
    /// Where the daemon is.
    public let address: ServerAddress
    /// How long a request may take, beyond what it asks the daemon to wait.
    public let timeout: Duration
    let pool: ConnectionPool
    private let reader: AnswerReader

    /// A client of a daemon. Nothing is sent until something is asked.
    public convenience init(_ address: ServerAddress = .usual, timeout: Duration = .seconds(10)) {
        self.init(ConnectionPool(address), timeout: timeout)
    }

    /// A client of the daemon at an address such as `http://127.0.0.1:7070` or `unix:/run/settingsd.sock`.
    public convenience init(_ url: String, timeout: Duration = .seconds(10)) throws(ServerAddressError) {
        self.init(try ServerAddress(url), timeout: timeout)
    }

    init(_ pool: ConnectionPool, timeout: Duration, reader: AnswerReader = .shared) {
        self.pool = pool
        address = pool.address
        self.timeout = timeout
        self.reader = reader
    }

    /// A client that has the connections of this one and is patient for another time.
    public func withTimeout(_ timeout: Duration) -> SettingsClient {
        SettingsClient(pool, timeout: timeout, reader: reader)
    }

    /// The same requests for callers that may block.
    public var blocking: Blocking { Blocking(client: self) }

    /// The requests of a client, each blocking the thread that calls it until the answer is there or the time is over.
    public struct Blocking: Sendable {
        let client: SettingsClient

        func send<Output>(_ call: APICall<Output>) throws(SettingsError) -> Output {
            do throws(SettingsError) {
                return try call.read(try client.pool.exchange(call.request, by: client.deadline(of: call)))
            } catch {
                throw error.at(client.address)
            }
        }
    }

    func deadline<Output>(of call: APICall<Output>) -> ContinuousClock.Instant {
        // As good as forever, and short enough to be added to a time.
        let longest = Duration.seconds(1 << 31)
        return .now + min(timeout, longest) + .seconds(min(call.wait, longest).wholeSeconds)
    }

    /// A request on its way without a thread; not started.
    func poll<Output>(_ call: APICall<Output>) -> LongPoll {
        LongPoll(call.request, pool, by: deadline(of: call), reader: reader)
    }

    func send<Output>(_ call: APICall<Output>) async throws(SettingsError) -> Output {
        let poll = poll(call)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                poll.start { continuation.resume(returning: $0) }
            }
        } onCancel: {
            poll.cancel()
        }
        do throws(SettingsError) {
            return try call.read(try result.get())
        } catch {
            throw error.at(address)
        }
    }
}

extension ServerAddress {
    /// What the environment says in `SETTINGS_URL`, else the usual address. An empty variable says nothing.
    public static func fromEnvironment() throws(ServerAddressError) -> ServerAddress {
        try from(variable: getenv(variable).map { String(cString: $0) })
    }
}
