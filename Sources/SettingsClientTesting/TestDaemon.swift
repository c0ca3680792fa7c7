internal import Foundation
internal import SettingsAPI
public import SettingsClient
public import SettingsKeys
internal import SettingsModel

/// A daemon in the memory of a test. The test can make its requests fail.
///
///     let daemon = TestDaemon(values: ["player.volume": 0.8])
///     let settings = DefaultsAdapter.inMemory(keyStore: DefaultsKeys(), daemon: daemon)
///     daemon.setCondition(.refusing(.forbidden, "the token does not allow it"))
///     await #expect(throws: DefaultsError.self) { try await settings.set(\.volume, 0.5) }
///
/// The test daemon decides writes with the code of the real daemon, so its refusals have the same messages. Several
/// adapters can use one test daemon, as several programs would. A mistake of the test, such as an invalid name of a
/// key, ends the process with a message.
public final class TestDaemon: Sendable {
    /// The way in which the daemon treats requests.
    public enum Condition: Sendable {
        /// The daemon answers at once.
        case available
        /// Each request fails at once, as if the host refused connections. No adapter gets the changes of other
        /// adapters.
        case away
        /// The daemon answers each request after this delay, by the clock of the daemon.
        case slow(Duration)
        /// The daemon refuses each write with this code and this text. With `includingReads`, it refuses reads, too.
        /// After a temporary refusal, such as `insufficientStorage` for a full disk, the client keeps the write and
        /// sends it again.
        case refusing(ErrorCode, String, includingReads: Bool = false)
    }

    /// The clock of the daemon and of the clients that use it. Nil for real time.
    public let clock: TestClock?
    let backend: TestBackend

    /// Creates a daemon with one suite.
    ///
    /// - Parameters:
    ///   - suite: the name of the suite.
    ///   - schema: the schema of the suite. By default, the suite has no schema.
    ///   - values: the stored values.
    ///   - clock: a clock that the test controls. By default, the daemon and its clients use real time.
    public init(
        suite: String = "memory", schema: Schema? = nil, values: [String: JSONValue] = [:], clock: TestClock? = nil
    ) {
        self.clock = clock
        do {
            let now: @Sendable () -> Timestamp = {
                clock.map { Timestamp(milliseconds: Int64($0.date.timeIntervalSince1970 * 1000)) } ?? .ofSystem
            }
            backend = TestBackend(
                try InMemoryBackend(suite: SuiteName(suite), schema: schema, now: now), clock ?? RealSessionClock())
        } catch {
            fatalError("cannot create a test daemon with the suite \"\(suite)\": \(error)")
        }
        clock?.onAdvance { [weak memory = backend.memory] in memory?.carryOutDueActions() }
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { store(value, forKey: name) }
    }

    /// Changes how the daemon treats requests from now on.
    ///
    /// After ``Condition/away``, the clients get the changes that they have missed. A client that gets a missed change
    /// sends its waiting writes at once. Other clients send their waiting writes at the end of the pause that follows
    /// each failed attempt. A ``TestClock`` can end this pause.
    public func setCondition(_ condition: Condition) {
        backend.setCondition(condition)
    }

    /// Returns the stored value of a key, or its default in the schema. Returns nil if there is no value.
    public func value(forKey name: String) -> JSONValue? {
        Self.requireSuccess("read", name) { key throws(BackendError) in try backend.memory.setting(key).value }
    }

    /// Stores a value as another program would, whatever the condition of the daemon is. If the value is nil, removes
    /// the stored value.
    public func store(_ value: JSONValue?, forKey name: String) {
        Self.store(value, name, in: backend.memory)
    }

    /// Stores a value as another program would, immediately before the daemon decides the next write of a client. Use
    /// this method to test a conflict.
    public func storeBeforeNextWrite(_ value: JSONValue?, forKey name: String) {
        backend.runBeforeNextWrite { [memory = backend.memory] in Self.store(value, name, in: memory) }
    }

    private static func store(_ value: JSONValue?, _ name: String, in memory: InMemoryBackend) {
        requireSuccess("write", name) { key throws(BackendError) in try memory.store(value, for: key) }
    }

    /// Calls the body with the key of this name. Ends the process if the name is invalid, or if the body fails.
    private static func requireSuccess<Result>(
        _ operation: String, _ name: String, _ body: (KeyName) throws(BackendError) -> Result
    ) -> Result {
        do {
            let key = try KeyName(name)
            do throws(BackendError) {
                return try body(key)
            } catch {
                throw DefaultsError(error)
            }
        } catch {
            fatalError("cannot \(operation) \"\(name)\" in a test daemon: \(error)")
        }
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Creates an adapter for settings in memory, with a test daemon of its own. The settings last as long as the
    /// adapter. A setter returns after the write, so the stream `issues` then already has the issue of a refused write.
    ///
    /// - Parameters:
    ///   - keyStore: the object that defines the keys.
    ///   - values: the stored values.
    ///   - schema: the schema of the suite. By default, the suite has no schema.
    ///   - arguments: command line arguments without the program's name. By default, no arguments.
    ///   - log: the log of the issues. By default ``DefaultsLog/default``.
    public static func inMemory(
        keyStore: KeyStore, values: [String: JSONValue] = [:], schema: Schema? = nil, arguments: [String] = [],
        log: DefaultsLog? = nil
    ) -> DefaultsAdapter {
        inMemory(
            keyStore: keyStore, daemon: TestDaemon(schema: schema, values: values), writes: .confirmed,
            arguments: arguments, log: log)
    }

    /// Creates an adapter for the suite of a test daemon.
    ///
    /// - Parameters:
    ///   - keyStore: the object that defines the keys.
    ///   - daemon: the daemon.
    ///   - timeout: the maximum time for which a call waits for the daemon, in real time.
    ///   - writes: determines whether a setter waits for the daemon.
    ///   - arguments: command line arguments without the program's name. By default, no arguments.
    ///   - log: the log of the issues. By default ``DefaultsLog/default``.
    public static func inMemory(
        keyStore: KeyStore, daemon: TestDaemon, timeout: Duration = .seconds(2), writes: WriteMode = .background,
        arguments: [String] = [], log: DefaultsLog? = nil
    ) -> DefaultsAdapter {
        DefaultsAdapter(
            keyStore: keyStore, backend: daemon.backend, clock: daemon.backend.clock, timeout: timeout, writes: writes,
            arguments: arguments, log: log)
    }
}
