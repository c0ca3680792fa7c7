internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// Exchanges records about clients with the other daemons through etcd. Every second, each daemon publishes its
/// records, and reads the records of the other daemons. The exchange does not interpret the records.
///
/// The key `clients/DAEMON` contains the announcement of a daemon: the number of its records, and a number that grows.
/// Each key `clients/DAEMON/INDEX` contains a record. A daemon writes its announcement every second, but a record only
/// if the record has changed. If a daemon reads no new announcement of another daemon for the retention time, it drops
/// the records of the other daemon.
package final class PeerExchange: Sendable {
    private typealias Instant = ContinuousClock.Instant

    /// The records of another daemon.
    package struct Peer: Sendable {
        /// The identifier of the daemon.
        package let daemon: String
        package let records: [[UInt8]]
        /// The time at which this daemon read the last announcement.
        package let readTime: ContinuousClock.Instant
    }

    /// The values of the keys of another daemon that this daemon has read. Some of the records may be missing.
    private struct PeerValues {
        var announcement: [UInt8] = []
        /// The time at which this daemon read `announcement`.
        var readTime: Instant
        /// The records by index.
        var records: [Int: [UInt8]] = [:]
    }

    /// No daemon has this many records, because a record contains many clients, and a daemon keeps at most 100,000
    /// clients.
    private static let maximumRecordCount = 10_000
    private static let interval = Duration.seconds(1)
    private static let callTimeout = Duration.seconds(2)
    private static let announcementLeaseSeconds = 15
    /// After half of this time, the daemon writes all records again with a new lease.
    private static let recordLeaseSeconds = 600

    private let keys: LogKeys
    /// The identifier of this daemon.
    private let daemon: String
    private let retention: @Sendable () -> Duration
    private let records: @Sendable () -> [[UInt8]]
    private let receive: @Sendable ([Peer]) -> Void
    private let queue = DispatchQueue(label: "settingsd.exchange", qos: .utility)
    private let isStopped = Atomic(false)
    private let stopSignal = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - retention: returns the time for which the records of another daemon stay valid after its last announcement.
    ///   - records: returns the records of this daemon. Called every second on the queue of the exchange.
    ///   - receive: called every second on the queue of the exchange with the records of the other daemons.
    init(
        _ client: EtcdClient, _ keys: LogKeys, daemon: String,
        retention: @escaping @Sendable () -> Duration,
        records: @escaping @Sendable () -> [[UInt8]],
        receive: @escaping @Sendable ([Peer]) -> Void
    ) {
        (self.keys, self.daemon, self.retention) = (keys, daemon, retention)
        (self.records, self.receive) = (records, receive)
        queue.async { self.run(client) }
    }

    /// Stops the exchange. Waits up to a second until this daemon has announced that it has no records.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        stopSignal.signal()
        _ = ended.wait(timeout: .now() + .seconds(1))
    }

    private func run(_ client: EtcdClient) {
        var client = client
        var publisher = Publisher(key: keys.clients + daemon)
        var peers: [String: PeerValues] = [:]
        // The revision of the etcd database up to which this daemon has read the records.
        var revision: Int64 = 0
        while !isStopped.load(ordering: .acquiring) {
            // After an error, the next round tries again. The error is not logged here, because `LogFollower` logs that
            // etcd does not answer. Meanwhile, answers about clients contain the age of the data.
            do throws(EtcdError) { try publisher.publish(records(), &client) } catch { publisher.forgetLeases() }
            try? read(&peers, after: &revision, &client)
            let retention = retention()
            peers = peers.filter { $0.value.readTime > .now - retention }
            receive(peers.sorted { $0.key < $1.key }.compactMap { Self.peer($0.key, $0.value) })
            _ = stopSignal.wait(timeout: .now() + .milliseconds(Int(Self.interval / .milliseconds(1))))
        }
        // An announcement of zero records makes the other daemons drop the clients at once. The daemon does not delete
        // its keys, because the other daemons do not notice deleted keys. etcd deletes the keys when their leases
        // expire.
        try? publisher.publish([], &client, timeout: .seconds(1))
        ended.signal()
    }

    /// Reads the keys that were written after a revision of the etcd database.
    private func read(
        _ peers: inout [String: PeerValues], after revision: inout Int64, _ client: inout EtcdClient
    ) throws(EtcdError) {
        let range = EtcdRange(key: keys.clients, end: keys.clientsEnd, writtenAfter: revision)
        let answer = try client.call(
            EtcdTransaction(success: [.range(range)]), isRepeatable: true, by: .now + Self.callTimeout)
        // A lower revision means that the database was restored from a backup. The next round then reads all keys.
        revision = answer.header.revision >= revision ? answer.header.revision : 0
        for pair in answer.ranges[0] {
            let name = pair.key.utf8.dropFirst(keys.clients.utf8.count).split(separator: UInt8(ascii: "/"))
            guard let first = name.first.flatMap({ String(Substring($0)) }), first != daemon else { continue }
            var peer = peers[first] ?? PeerValues(readTime: .now)
            if name.count == 2, let index = Int(Substring(name[1])) {
                peer.records[index] = pair.value
            } else if peer.announcement != pair.value {
                (peer.announcement, peer.readTime) = (pair.value, .now)
            }
            peers[first] = peer
        }
    }

    /// Returns the records of a daemon; nil if they were not read completely.
    private static func peer(_ daemon: String, _ state: PeerValues) -> Peer? {
        guard let count = (try? JSONValue(parsing: state.announcement))?["records"]?.integer.map(Int.init) else {
            return nil
        }
        let records = (0..<min(max(0, count), maximumRecordCount)).compactMap { state.records[$0] }
        return records.count == count ? Peer(daemon: daemon, records: records, readTime: state.readTime) : nil
    }

    /// Writes the records of this daemon to etcd.
    private struct Publisher {
        /// The key of the announcement. The key of a record is this key, a slash and the index.
        let key: String
        /// The records in etcd with `recordLease`.
        private var published: [[UInt8]] = []
        private var recordLease: (id: Int64, time: Instant)?
        private var announcementLease: (id: Int64, time: Instant)?
        /// A part of each announcement, so that every announcement differs from the announcement before it.
        private var announcementCount: Int64 = 0

        init(key: String) { self.key = key }

        /// Makes the next call of `publish` write all records and the announcement with new leases.
        mutating func forgetLeases() { (recordLease, announcementLease, published) = (nil, nil, []) }

        /// Writes the records that have changed, and then the announcement.
        ///
        /// - Parameter timeout: the time limit of each request to etcd.
        mutating func publish(
            _ records: [[UInt8]], _ client: inout EtcdClient, timeout: Duration = callTimeout
        ) throws(EtcdError) {
            if records.isEmpty || recordLease.map({ $0.time < .now - .seconds(recordLeaseSeconds / 2) }) ?? true {
                (recordLease, published) = (nil, [])
            }
            for (index, record) in records.enumerated() where index >= published.count || published[index] != record {
                if recordLease == nil {
                    recordLease = (
                        try client.call(EtcdLeaseGrant(seconds: recordLeaseSeconds), by: .now + timeout), .now
                    )
                }
                try put("\(key)/\(index)", record, lease: recordLease?.id ?? 0, &client, timeout)
                if index < published.count { published[index] = record } else { published.append(record) }
            }
            if announcementLease.map({ $0.time < .now - .seconds(announcementLeaseSeconds / 3) }) ?? true {
                let lease = try client.call(EtcdLeaseGrant(seconds: announcementLeaseSeconds), by: .now + timeout)
                announcementLease = (lease, .now)
            }
            announcementCount += 1
            let announcement: JSONObject = [
                "records": .integer(Int64(records.count)), "number": .integer(announcementCount),
            ]
            let lease = announcementLease?.id ?? 0
            try put(key, JSONValue.object(announcement).bytes(), lease: lease, &client, timeout)
        }

        private func put(
            _ key: String, _ value: [UInt8], lease: Int64, _ client: inout EtcdClient, _ timeout: Duration
        ) throws(EtcdError) {
            let put = EtcdTransaction(success: [.put(key, value, lease: lease)])
            _ = try client.call(put, isRepeatable: true, by: .now + timeout)
        }
    }
}
