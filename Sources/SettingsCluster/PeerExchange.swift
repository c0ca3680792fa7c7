internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// Exchanges records with the other daemons through etcd: each daemon publishes its records every second, and reads the
/// records of the other daemons. The exchange does not know what the records mean.
///
/// The key `clients/DAEMON` has the announcement of a daemon: the number of its records. `clients/DAEMON/INDEX` has a
/// record. A daemon rewrites its announcement every second, and only changed records. If a daemon reads no new
/// announcement of another daemon for the retention time, it drops the records.
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

    /// The records of another daemon as far as they were read.
    private struct PeerState {
        var announcement: [UInt8] = []
        var readTime: Instant
        var records: [Int: [UInt8]] = [:]
    }

    /// A daemon with more records does not exist, because it would have more than 100,000 clients.
    private static let maximumRecordCount = 10_000
    private static let interval = Duration.seconds(1)
    private static let callTimeout = Duration.seconds(2)
    private static let announcementLeaseSeconds = 15
    /// Records are rewritten with a new lease after half of this time.
    private static let recordLeaseSeconds = 600

    private let keys: LogKeys
    /// The identifier of this daemon.
    private let daemon: String
    private let retention: Duration
    private let records: @Sendable () -> [[UInt8]]
    private let receive: @Sendable ([Peer]) -> Void
    private let queue = DispatchQueue(label: "settingsd.exchange", qos: .utility)
    private let isStopped = Atomic(false)
    private let stopSignal = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - retention: the time for which the records of a daemon are valid after its last announcement.
    ///   - records: returns the records of this daemon. Called on the queue of the exchange.
    ///   - receive: called on the queue with the records of the other daemons.
    init(
        _ client: EtcdClient, _ keys: LogKeys, daemon: String, retention: Duration,
        records: @escaping @Sendable () -> [[UInt8]],
        receive: @escaping @Sendable ([Peer]) -> Void
    ) {
        (self.keys, self.daemon, self.retention) = (keys, daemon, retention)
        (self.records, self.receive) = (records, receive)
        queue.async { self.run(client) }
    }

    /// Stops the exchange. Waits up to a second for the deletion of the records in etcd.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        stopSignal.signal()
        _ = ended.wait(timeout: .now() + .seconds(1))
    }

    private func run(_ client: EtcdClient) {
        var client = client
        var publisher = Publisher(key: keys.clients + daemon)
        var peers: [String: PeerState] = [:]
        /// The revision of the etcd database up to which this daemon has read the records.
        var revision: Int64 = 0
        while !isStopped.load(ordering: .acquiring) {
            // After an error, the next round tries again. The follower logs that etcd does not answer, and answers
            // about clients say how old their data is.
            do throws(EtcdError) { try publisher.publish(records(), &client) } catch { publisher.forgetLeases() }
            try? read(&peers, after: &revision, &client)
            peers = peers.filter { $0.value.readTime > .now - retention }
            receive(peers.sorted { $0.key < $1.key }.compactMap { Self.peer($0.key, $0.value) })
            _ = stopSignal.wait(timeout: .now() + .milliseconds(Int(Self.interval / .milliseconds(1))))
        }
        // Other daemons do not notice deleted keys, so the daemon announces that it has no records. If the call fails,
        // etcd deletes the keys when their leases expire.
        try? publisher.publish([], &client, timeout: .seconds(1))
        ended.signal()
    }

    /// Reads the keys that were written after a revision of the etcd database.
    private func read(
        _ peers: inout [String: PeerState], after revision: inout Int64, _ client: inout EtcdClient
    ) throws(EtcdError) {
        let range = EtcdRange(key: keys.clients, end: keys.clientsEnd, writtenAfter: revision)
        let answer = try client.call(
            EtcdTransaction(success: [.range(range)]), isRepeatable: true, by: .now + Self.callTimeout)
        // The database has an earlier revision after it was restored from a backup. Then everything is read again.
        revision = answer.header.revision >= revision ? answer.header.revision : 0
        for pair in answer.ranges[0] {
            let name = pair.key.utf8.dropFirst(keys.clients.utf8.count).split(separator: UInt8(ascii: "/"))
            guard let first = name.first.flatMap({ String(Substring($0)) }), first != daemon else { continue }
            var peer = peers[first] ?? PeerState(readTime: .now)
            if name.count == 2, let index = Int(Substring(name[1])) {
                peer.records[index] = pair.value
            } else if peer.announcement != pair.value {
                (peer.announcement, peer.readTime) = (pair.value, .now)
            }
            peers[first] = peer
        }
    }

    /// Returns the records of a daemon; nil if they were not read completely.
    private static func peer(_ daemon: String, _ state: PeerState) -> Peer? {
        guard let count = (try? JSONValue(parsing: state.announcement))?["records"]?.integer.map(Int.init) else {
            return nil
        }
        let records = (0..<min(max(0, count), maximumRecordCount)).compactMap { state.records[$0] }
        return records.count == count ? Peer(daemon: daemon, records: records, readTime: state.readTime) : nil
    }

    /// The records of this daemon in etcd.
    private struct Publisher {
        /// The key of the announcement, and the beginning of the keys of the records.
        let key: String
        private var published: [[UInt8]] = []
        private var recordLease: (id: Int64, time: Instant)?
        private var announcementLease: (id: Int64, time: Instant)?
        private var announcementCount: Int64 = 0

        init(key: String) { self.key = key }

        /// Makes the next call store everything with new leases.
        mutating func forgetLeases() { (recordLease, announcementLease, published) = (nil, nil, []) }

        /// - Parameter timeout: the time limit of each call of etcd.
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
