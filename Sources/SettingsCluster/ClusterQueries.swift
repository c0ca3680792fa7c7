internal import Dispatch
package import SettingsAPI
package import SettingsModel
internal import Synchronization

/// Answers requests of clients about the commit log in etcd: where the log ends, and which daemons read it. The value
/// of the etcd key `head` describes the last batch of the log, and so the end of the log (see ``LogHead``).
///
/// A serial queue executes the reads, because a read blocks its thread until etcd answers. Thread-safe.
package final class ClusterQueries: Sendable {
    /// Receives the end of the log as a cursor (an epoch and a revision); nil if etcd does not answer, has no log, or
    /// has an invalid `head`.
    package typealias EndCompletion = @Sendable (Cursor?) -> Void

    /// The calls of ``fetchEnd(_:)`` that wait for the next read.
    private struct EndRequests {
        var completions: [EndCompletion] = []
        /// True if a read is running, or queued.
        var isReading = false
    }

    private static let timeout = Duration.seconds(5)

    private let keys: LogKeys
    /// The identifier of this daemon.
    private let daemon: String
    /// Nil while ``execute(_:)`` uses the client.
    private let client: Mutex<EtcdClient?>
    private let endRequests = Mutex(EndRequests())
    private let queue = DispatchQueue(label: "settingsd.cluster", qos: .userInitiated)

    init(_ client: EtcdClient, _ keys: LogKeys, daemon: String) {
        self.client = Mutex(client)
        (self.keys, self.daemon) = (keys, daemon)
    }

    /// Reads the current end of the log. Calls `completion` on the queue.
    ///
    /// Calls during a read share the next read, because the running read may return an older end.
    package func fetchEnd(_ completion: @escaping EndCompletion) {
        let mustRead = endRequests.withLock { endRequests in
            endRequests.completions.append(completion)
            defer { endRequests.isReading = true }
            return !endRequests.isReading
        }
        if mustRead { queue.async { self.readEnd() } }
    }

    private func readEnd() {
        let completions = endRequests.withLock { endRequests in
            defer { endRequests.completions = [] }
            return endRequests.completions
        }
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.head))])
        let value = try? execute(read).ranges[0].first?.value
        let head = value.flatMap { try? LogHead($0) }
        let cursor = head.map { Cursor(epoch: $0.epoch, revision: $0.revision) }
        for completion in completions { completion(cursor) }
        let mustReadAgain = endRequests.withLock { endRequests in
            endRequests.isReading = !endRequests.completions.isEmpty
            return endRequests.isReading
        }
        // The next read goes to the end of the queue, so that queries that are already in the queue are executed first.
        if mustReadAgain { queue.async { self.readEnd() } }
    }

    /// Lists the daemons that follow the log, as the JSON of `GET /v1/cluster`. Calls `completion` on the queue.
    package func describeDaemons(_ completion: @escaping @Sendable (Result<JSONObject, Problem>) -> Void) {
        queue.async { completion(self.readDaemons()) }
    }

    private func readDaemons() -> Result<JSONObject, Problem> {
        let read = EtcdTransaction(success: [
            .range(EtcdRange(key: keys.head)), .range(EtcdRange(key: keys.daemons, end: keys.daemonsEnd)),
        ])
        do {
            let ranges = try execute(read).ranges
            guard let end = try ranges[0].first.map({ try LogHead($0.value) }) else {
                throw LogDamage("there is no log in etcd")
            }
            let records = try ranges[1].map { pair -> JSONValue in
                guard case .object(var record) = try JSONValue(parsing: pair.value),
                    let batch = record["batch"]?.integer
                else { throw LogDamage("the value of \(pair.key) is not the record of a daemon") }
                record["behind"] = .integer(max(0, end.batch - batch))
                if record["id"]?.string == daemon { record["self"] = true }
                return .object(record)
            }
            // At least this daemon follows the log, even if etcd has no record of it.
            return .success([
                "daemons": .integer(Int64(max(1, records.count))),
                "end": .string(Cursor(epoch: end.epoch, revision: end.revision).description),
                "batch": .integer(end.batch),
                "members": .array(records),
            ])
        } catch {
            var problem = Problem(.storageFailed, "cannot list the daemons: \(error); retry later")
            problem.outcome = .notDone
            problem.retryAfterMs = 1000
            return .failure(problem)
        }
    }

    private func execute(_ read: EtcdTransaction) throws(EtcdError) -> EtcdTransaction.Answer {
        // The serial queue runs one query at a time, so the client is not nil, and the error cannot occur.
        guard var client = client.withLock({ $0.take() }) else {
            throw EtcdError(outcome: .noEffect, description: "another query is in progress")
        }
        defer { self.client.withLock { $0 = client } }
        return try client.call(read, isRepeatable: true, by: .now + Self.timeout)
    }
}

/// The record of a running daemon in etcd. etcd deletes the record when its lease expires.
struct DaemonRecord: Sendable {
    /// Three times the interval at which ``LogFollower`` renews the record, so that one failed renewal does not
    /// make etcd delete the record.
    static let leaseSeconds = 15

    /// The identifier of the daemon, random for each start.
    let id: String
    /// The address at which the daemon listens, for operators.
    let address: String

    /// The record as JSON. `head` identifies the last batch that the daemon has applied (see ``LogHead``).
    func value(at head: LogHead) -> [UInt8] {
        let object: JSONObject = [
            "id": .string(id), "address": .string(address), "version": .string(ServiceDescription.programVersion),
            "cursor": .string(Cursor(epoch: head.epoch, revision: head.revision).description),
            "batch": .integer(head.batch),
        ]
        return JSONValue.object(object).bytes()
    }
}

extension EtcdClient {
    /// Writes the record of a daemon. etcd deletes the record unless it is written again before the lease expires.
    mutating func announce(
        _ record: DaemonRecord, at head: LogHead, _ keys: LogKeys, by deadline: Instant
    ) throws(EtcdError) {
        let lease = try call(EtcdLeaseGrant(seconds: DaemonRecord.leaseSeconds), by: deadline)
        let put = EtcdTransaction.Operation.put(keys.daemons + record.id, record.value(at: head), lease: lease)
        _ = try call(EtcdTransaction(success: [put]), isRepeatable: true, by: deadline)
    }

    /// Deletes the record of a daemon that stops.
    mutating func withdraw(_ record: DaemonRecord, _ keys: LogKeys, by deadline: Instant) throws(EtcdError) {
        _ = try call(EtcdTransaction(success: [.delete(keys.daemons + record.id)]), isRepeatable: true, by: deadline)
    }
}
