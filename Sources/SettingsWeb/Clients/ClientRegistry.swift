internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// The ``ClientTable`` that all event loops share, with its lock and its clocks. Thread-safe.
package final class ClientRegistry: Sendable {
    /// The default of `clients.forgetSeconds`, in nanoseconds.
    package static let defaultForgetTime: UInt64 = 90_000_000_000

    private let table: Mutex<ClientTable>
    private let clock: MonotonicClock
    private let wallClock: @Sendable () -> Timestamp
    /// The records that `records(on:)` has made last, with the version of the table, the cursor of the state and the
    /// time at which it made them.
    let cachedRecords = Mutex<(version: UInt64, cursor: Cursor, time: UInt64, records: [[UInt8]])?>(nil)

    init(forgetTime: UInt64, clock: MonotonicClock, wallClock: @escaping @Sendable () -> Timestamp) {
        table = Mutex(ClientTable(forgetTime: forgetTime))
        (self.clock, self.wallClock) = (clock, wallClock)
    }

    /// See ``ClientTable/forgetTime``.
    package var forgetTime: UInt64 {
        get { table.withLock(\.forgetTime) }
        set { table.withLock { $0.forgetTime = newValue } }
    }

    var now: ClientTable.Time { ClientTable.Time(monotonic: clock.now(), wall: wallClock()) }

    /// Records a report without a watch. Returns the client.
    func record(_ received: ReceivedReport, of suite: SuiteName, on state: State) throws(Problem) -> ListedClient? {
        try update { table, now throws(ClientNameConflict) in
            _ = try table.record(received, of: [suite], startsWatch: false, on: state, at: now)
            return table.ownClient(received.name, of: suite)
        }
    }

    /// Records the report of a watch. The client is present as long as the returned `ClientWatch` exists. Returns nil
    /// if none of the suites exists.
    func watch(_ received: ReceivedReport, of suites: [SuiteName], on state: State) throws(Problem) -> ClientWatch? {
        let presences = try update { table, now throws(ClientNameConflict) in
            // A watch may wait for the creation of a suite. Without this filter, such watches could fill the table with
            // clients of suites that do not exist.
            try table.record(received, of: suites.filter(state.hasSuite), startsWatch: true, on: state, at: now)
        }
        return presences.first.map { ClientWatch($0, others: Array(presences.dropFirst()), clock) }
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

    /// Calls `body` with the table and the time of the monotonic clock in nanoseconds. First removes the clients of the
    /// suite that have been gone for a day. Also forgets the reported states if `state` belongs to another epoch.
    func read<Result>(_ suite: SuiteName, on state: State, _ body: (borrowing ClientTable, UInt64) -> Result) -> Result
    {
        let now = clock.now()
        return table.withLock { table in
            table.adoptEpoch(of: state)
            table.removeExpired(of: suite, at: now)
            return body(table, now)
        }
    }

    /// See ``ClientTable/version(of:)``.
    func version(of suite: SuiteName) -> UInt64 { table.withLock { $0.version(of: suite) } }

    func count(of suite: SuiteName) -> Int { table.withLock { $0.count(of: suite) } }

    /// The other daemons whose clients are known, with the age of their data.
    var sources: [ClientSource] {
        let sources = table.withLock(\.sources)
        let now = clock.now()
        return sources.map { source in
            // No time is after `now`, because `receive` subtracts an age from an earlier time of the same clock. `min`
            // is a safeguard: the subtraction would trap if a time were later.
            let age = now - min(now, source.time)
            return ClientSource(daemon: source.daemon, ageMilliseconds: Int64(age / 1_000_000))
        }
    }

    /// See ``ClientTable/ownVersion``.
    var ownVersion: UInt64 { table.withLock(\.ownVersion) }

    func setPeerClients(_ peers: PeerClients) { table.withLock { $0.setPeers(peers) } }

    /// The suites with clients that report to this daemon.
    var suiteNames: [SuiteName] { table.withLock { $0.suiteNames } }

    var metrics: (dropped: Int, rolloutTimes: RolloutTimes) { table.withLock { ($0.droppedCount, $0.rolloutTimes) } }
}

/// Keeps a client present in each suite that a watch request names. The watch ends when this object is released: after
/// an answer, a closed connection, a revoked credential or the stop of the daemon. Thread-safe.
final class ClientWatch: Sendable {
    // Most watches name one suite. The property for the first suite avoids the memory of an array.
    private let first: ClientPresence
    private let others: [ClientPresence]
    private let clock: MonotonicClock

    fileprivate init(_ first: ClientPresence, others: [ClientPresence], _ clock: MonotonicClock) {
        (self.first, self.others, self.clock) = (first, others, clock)
    }

    deinit {
        let now = clock.now()
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
