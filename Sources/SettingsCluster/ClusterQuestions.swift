internal import Dispatch
package import SettingsAPI
package import SettingsModel
internal import Synchronization

/// A queue that answers what callers ask about the other daemons: where the log ends, and which daemons follow it.
///
/// Callers that ask for the end while a question is under way share the next one.
package final class ClusterQuestions: Sendable {
    package typealias EndCompletion = @Sendable (Cursor?) -> Void

    private struct Waiting {
        var completions: [EndCompletion] = []
        var isAsking = false
    }

    private static let time = Duration.seconds(5)

    private let keys: LogKeys
    private let daemon: String
    /// Nil while a question is under way.
    private let client: Mutex<EtcdClient?>
    private let waiting = Mutex(Waiting())
    private let queue = DispatchQueue(label: "settingsd.cluster", qos: .userInitiated)

    init(_ client: EtcdClient, _ keys: LogKeys, daemon: String) {
        self.client = Mutex(client)
        (self.keys, self.daemon) = (keys, daemon)
    }

    /// Asks where the log ends after the call began. Calls `completion` on the queue; with nil if etcd does not answer.
    package func confirmEnd(_ completion: @escaping EndCompletion) {
        let mustAsk = waiting.withLock { waiting in
            waiting.completions.append(completion)
            defer { waiting.isAsking = true }
            return !waiting.isAsking
        }
        if mustAsk { queue.async { self.askForEnd() } }
    }

    private func askForEnd() {
        let completions = waiting.withLock { waiting in
            defer { waiting.completions = [] }
            return waiting.completions
        }
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.head))])
        let line = try? ask(read).ranges[0].first?.value
        let end = line.flatMap { try? LogHead($0) }
        let cursor = end.map { Cursor(epoch: $0.epoch, revision: $0.revision) }
        for completion in completions { completion(cursor) }
        let mustAskAgain = waiting.withLock { waiting in
            waiting.isAsking = !waiting.completions.isEmpty
            return waiting.isAsking
        }
        // Behind what else is asked.
        if mustAskAgain { queue.async { self.askForEnd() } }
    }

    /// Asks for the daemons that follow the log. Calls `completion` on the queue.
    package func describe(_ completion: @escaping @Sendable (Result<JSONObject, Problem>) -> Void) {
        queue.async { completion(self.description()) }
    }

    private func description() -> Result<JSONObject, Problem> {
        let read = EtcdTransaction(success: [
            .range(EtcdRange(key: keys.head)), .range(EtcdRange(key: keys.daemons, end: keys.daemonsEnd)),
        ])
        do {
            let ranges = try ask(read).ranges
            guard let end = try ranges[0].first.map({ try LogHead($0.value) }) else {
                throw LogDamage("there is no log in etcd")
            }
            let members = try ranges[1].map { pair -> JSONValue in
                guard case .object(var member) = try JSONValue(parsing: pair.value),
                    let batch = member["batch"]?.integer
                else { throw LogDamage("\(pair.key) has another form") }
                member["behind"] = .integer(max(0, end.batch - batch))
                if member["id"]?.string == daemon { member["self"] = true }
                return .object(member)
            }
            return .success([
                "daemons": .integer(Int64(max(1, members.count))),
                "end": .string(Cursor(epoch: end.epoch, revision: end.revision).description),
                "batch": .integer(end.batch),
                "members": .array(members),
            ])
        } catch {
            var problem = Problem(.storageFailed, "cannot ask etcd for the daemons: \(error)")
            problem.outcome = .notDone
            problem.retryAfterMs = 1000
            return .failure(problem)
        }
    }

    private func ask(_ read: EtcdTransaction) throws(EtcdError) -> EtcdTransaction.Answer {
        guard var client = client.withLock({ $0.take() }) else {
            throw EtcdError(outcome: .refused, description: "another question is under way")
        }
        defer { self.client.withLock { $0 = client } }
        return try client.call(read, isRepeatable: true, by: .now + Self.time)
    }
}

/// What a daemon says of itself in etcd, under a lease.
struct ClusterMember: Sendable {
    static let leaseSeconds = 15

    let id: String
    let address: String

    /// The value of its key.
    func value(at head: LogHead) -> [UInt8] {
        let object: JSONObject = [
            "id": .string(id), "address": .string(address), "version": .string(ServiceDescription.versionOfThis),
            "cursor": .string(Cursor(epoch: head.epoch, revision: head.revision).description),
            "batch": .integer(head.batch),
        ]
        return JSONValue.object(object).bytes()
    }
}

extension EtcdClient {
    /// Says that a daemon follows the log. The key goes if that is not said again in time.
    mutating func announce(
        _ member: ClusterMember, at head: LogHead, _ keys: LogKeys, by deadline: Instant
    ) throws(EtcdError) {
        let lease = try call(EtcdLeaseGrant(seconds: ClusterMember.leaseSeconds), by: deadline)
        let put = EtcdTransaction.Operation.put(keys.daemons + member.id, member.value(at: head), lease: lease)
        _ = try call(EtcdTransaction(success: [put]), isRepeatable: true, by: deadline)
    }

    /// Says that a daemon does not follow the log any more.
    mutating func withdraw(_ member: ClusterMember, _ keys: LogKeys, by deadline: Instant) throws(EtcdError) {
        _ = try call(EtcdTransaction(success: [.delete(keys.daemons + member.id)]), isRepeatable: true, by: deadline)
    }
}
