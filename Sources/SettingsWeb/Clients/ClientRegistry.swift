internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A ``ClientTable`` with its clocks, which all event loops share. Thread-safe.
package final class ClientRegistry: Sendable {
    /// The default of `clients.forgetSeconds`, in nanoseconds.
    package static let defaultForgetTime: UInt64 = 90_000_000_000

    private let table: Mutex<ClientTable>
    private let clock: MonotonicClock
    private let wallClock: @Sendable () -> Timestamp
    /// The result of the last call of `records(on:)`, with the version of the clients and the time of the call.
    let cachedRecords = Mutex<(version: UInt64, time: UInt64, records: [[UInt8]])?>(nil)

    init(forgetTime: UInt64, clock: MonotonicClock, wallClock: @escaping @Sendable () -> Timestamp) {
        table = Mutex(ClientTable(forgetTime: forgetTime))
        (self.clock, self.wallClock) = (clock, wallClock)
    }

    /// Replaces the time after which a client that is not seen is gone.
    package func setForgetTime(_ nanoseconds: UInt64) { table.withLock { $0.forgetTime = nanoseconds } }

    var now: ClientTable.Time { ClientTable.Time(monotonic: clock.now(), wall: wallClock()) }

    /// Records a report without a watch. Returns the client.
    func record(_ sighting: ClientSighting, of suite: SuiteName, on state: State) throws(Problem) -> ListedClient? {
        try update { table, now throws(ClientNameConflict) in
            _ = try table.record(sighting, of: [suite], startsWatch: false, on: state, at: now)
            return table.ownClient(sighting.name, of: suite)
        }
    }

    /// Records the report of a watch. The client is seen as long as the result exists.
    func watch(_ sighting: ClientSighting, of suites: [SuiteName], on state: State) throws(Problem) -> ClientWatch? {
        let seen = try update { table, now throws(ClientNameConflict) in
            // A watch may wait for the creation of a suite. Without this filter, any name would make a client.
            try table.record(sighting, of: suites.filter(state.hasSuite), startsWatch: true, on: state, at: now)
        }
        return seen.first.map { ClientWatch($0, others: Array(seen.dropFirst())) }
    }

    private func update<Result: Sendable>(
        _ body: (inout ClientTable, ClientTable.Time) throws(ClientNameConflict) -> Result
    ) throws(Problem) -> Result {
        let now = now
        do throws(ClientNameConflict) {
            return try table.withLock { table throws(ClientNameConflict) in try body(&table, now) }
        } catch {
            throw Problem(error)
        }
    }

    /// Reads the clients of a suite at the present time, in nanoseconds of the monotonic clock.
    func read<Result>(_ suite: SuiteName, on state: State, _ body: (borrowing ClientTable, UInt64) -> Result) -> Result
    {
        let now = clock.now()
        return table.withLock { table in
            table.adopt(state)
            table.removeExpired(of: suite, at: now)
            return body(table, now)
        }
    }

    /// Returns the version of the clients of a suite: see ``ClientTable/version(of:)``.
    func version(of suite: SuiteName) -> UInt64 { table.withLock { $0.version(of: suite) } }

    func count(of suite: SuiteName) -> Int { table.withLock { $0.count(of: suite) } }

    /// The other daemons whose clients are known, with the age of their data.
    var sources: [ClientSource] {
        let sources = table.withLock(\.sources)
        let now = clock.now()
        return sources.map { source in
            // Another thread may have stored a time after `now`.
            let age = now - min(now, source.time)
            return ClientSource(daemon: source.daemon, ageMilliseconds: Int64(age / 1_000_000))
        }
    }

    /// A number that changes when an applied state, a failure or the set of clients changes.
    var ownVersion: UInt64 { table.withLock(\.lastVersion) }

    func setPeerClients(_ peers: PeerClients) { table.withLock { $0.setPeers(peers) } }

    /// The suites with clients that report to this daemon.
    var suiteNames: [SuiteName] { table.withLock { $0.suiteNames } }

    var metrics: (dropped: Int, rolloutTimes: RolloutTimes) { table.withLock { ($0.droppedCount, $0.rolloutTimes) } }
}

/// Keeps clients seen while a watch request waits. The watch ends when this object is released: after an
/// answer, a closed connection, a revoked credential or the stop of the daemon. Thread-safe.
final class ClientWatch: Sendable {
    // Most watches report for one suite. The property for the first suite avoids an array.
    private let first: ClientPresence
    private let others: [ClientPresence]

    fileprivate init(_ first: ClientPresence, others: [ClientPresence]) {
        (self.first, self.others) = (first, others)
    }

    deinit {
        let now = MonotonicClock.system.now()
        first.endWatch(at: now)
        for presence in others { presence.endWatch(at: now) }
    }
}

extension Problem {
    fileprivate init(_ conflict: ClientNameConflict) {
        self.init(
            .forbidden,
            "cannot report as client \"\(conflict.name)\" of suite \(conflict.suite): another credential uses this "
                + "name; choose another name, or wait: the name is free at \(conflict.end) if the other client does "
                + "not report again")
    }
}
