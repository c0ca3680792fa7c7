internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// The clients of all suites, with the clocks. The event loops record reports, and read the clients. Thread-safe.
package final class ClientRegistry: Sendable {
    /// The default of `clients.forgetSeconds`, in nanoseconds.
    package static let defaultForgetTime: UInt64 = 90_000_000_000

    private let table: Mutex<ClientTable>
    private let clock: MonotonicClock
    private let wallClock: @Sendable () -> Timestamp

    init(forgetTime: UInt64, clock: MonotonicClock, wallClock: @escaping @Sendable () -> Timestamp) {
        table = Mutex(ClientTable(forgetTime: forgetTime))
        (self.clock, self.wallClock) = (clock, wallClock)
    }

    /// Replaces the time after which a client that is not seen is gone. Clients that are gone remain gone.
    package func setForgetTime(_ nanoseconds: UInt64) { table.withLock { $0.forgetTime = nanoseconds } }

    var now: ClientTable.Time { ClientTable.Time(monotonic: clock.now(), wall: wallClock()) }

    /// Records a report without a watch. Returns the client.
    func record(_ sighting: ClientSighting, of suite: SuiteName, on state: State) throws(Problem) -> ListedClient? {
        try update { table, now throws(ClientNameConflict) in
            let ids = try table.record(sighting, of: [suite], startsWatch: false, on: state, at: now)
            return ids.first.flatMap(table.client)
        }
    }

    /// Records the report of a watch. The client is seen as long as the result exists.
    func watch(_ sighting: ClientSighting, of suites: [SuiteName], on state: State) throws(Problem) -> ClientWatch? {
        let ids = try update { table, now throws(ClientNameConflict) in
            try table.record(sighting, of: suites, startsWatch: true, on: state, at: now)
        }
        return ids.first.map { ClientWatch(self, $0, others: Array(ids.dropFirst())) }
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

    fileprivate func endWatch(_ first: ClientID, _ others: [ClientID]) {
        let now = clock.now()
        table.withLock { table in
            table.endWatch(first, at: now)
            for id in others { table.endWatch(id, at: now) }
        }
    }

    /// Reads the clients, after the clients of a dropped suite and the expired clients were removed.
    func read<Result>(_ suite: SuiteName, on state: State, _ body: (borrowing ClientTable) -> Result) -> Result {
        let now = now
        return table.withLock { table in
            table.adopt(state)
            table.expire(at: now)
            table.removeClients(ofDropped: suite, on: state, at: now)
            return body(table)
        }
    }

    /// Returns the version of the clients of a suite: see ``ClientTable/version(of:)``.
    func version(of suite: SuiteName) -> UInt64? { table.withLock { $0.version(of: suite) } }

    func count(of suite: SuiteName) -> Int { table.withLock { $0.count(of: suite) } }

    var suiteNames: [SuiteName] { table.withLock { $0.suiteNames } }

    var metrics: (dropped: Int, rolloutTimes: RolloutTimes) { table.withLock { ($0.droppedCount, $0.rolloutTimes) } }
}

/// Keeps clients seen while a watch request waits. The end of its lifetime is the end of the watch, whatever ends it: an
/// answer, a closed connection, a revoked credential or the stop of the daemon. Thread-safe.
final class ClientWatch: Sendable {
    private let registry: ClientRegistry
    // Most watches report for one suite, so that they need no array.
    private let first: ClientID
    private let others: [ClientID]

    fileprivate init(_ registry: ClientRegistry, _ first: ClientID, others: [ClientID]) {
        (self.registry, self.first, self.others) = (registry, first, others)
    }

    deinit { registry.endWatch(first, others) }
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
