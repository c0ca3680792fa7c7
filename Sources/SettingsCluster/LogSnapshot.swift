internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage
internal import Synchronization

/// A pointer to a snapshot in etcd, the value of the key `snapshot`: a line of JSON, and the head of the batch that the
/// snapshot ends with.
///
///     {"revision":1234,"batch":987,"id":"x5…","parts":3,"bytes":2345678}
struct LogSnapshot: Equatable, Sendable {
    let head: LogHead
    let id: String
    let parts: Int
    let bytes: Int
    /// The value as it stands in etcd.
    let value: [UInt8]

    init(_ head: LogHead, id: String, parts: Int, bytes: Int) {
        (self.head, self.id, self.parts, self.bytes) = (head, id, parts, bytes)
        var json = JSONWriter()
        json.beginObject()
        json.name(literal: "revision")
        head.revision.write(to: &json)
        json.name(literal: "batch")
        json.write(integer: head.batch)
        json.name(literal: "id")
        json.write(string: id)
        json.name(literal: "parts")
        json.write(integer: Int64(parts))
        json.name(literal: "bytes")
        json.write(integer: Int64(bytes))
        json.endObject()
        value = json.bytes + [UInt8(ascii: "\n")] + head.line
    }

    init(_ value: [UInt8]) throws(LogDamage) {
        let end = value.firstIndex(of: UInt8(ascii: "\n")) ?? value.endIndex
        guard let json = try? JSONValue(parsing: Array(value[..<end])), let id = json["id"]?.string,
            let parts = json["parts"]?.integer.flatMap({ Int(exactly: $0) }),
            let bytes = json["bytes"]?.integer.flatMap({ Int(exactly: $0) })
        else { throw LogDamage("the key snapshot has another form") }
        head = try LogHead(Array(value[end...].dropFirst()))
        (self.id, self.parts, self.bytes, self.value) = (id, parts, bytes, value)
    }
}

extension EtcdClient {
    /// Reads the pointer to the snapshot; nil if there is none.
    mutating func readSnapshotPointer(_ keys: LogKeys, by deadline: Instant) throws(EtcdError) -> LogSnapshot? {
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.snapshot))])
        guard let value = try call(read, isRepeatable: true, by: deadline).ranges[0].first?.value else { return nil }
        do throws(LogDamage) {
            return try LogSnapshot(value)
        } catch {
            throw EtcdError(outcome: .refused, description: "cannot read \(keys.snapshot): \(error)")
        }
    }

    /// Reads a snapshot, part by part, by way of a file.
    mutating func readSnapshot(
        _ snapshot: LogSnapshot, _ keys: LogKeys, limits: History.Limits, in directory: DataDirectory,
        by deadline: Instant
    ) throws(EtcdError) -> State {
        let name = "etcd-snapshot-\(snapshot.head.batch)"
        defer { try? directory.removeTemporary(name) }
        do {
            let file = try OpenFile(directory.temporaryPath(of: name), .replacing, in: directory.fileSystem)
            var offset = 0
            for number in 0..<snapshot.parts {
                let range = EtcdRange(key: keys.snapshotPart(number, of: snapshot.id))
                let answer = try call(EtcdTransaction(success: [.range(range)]), isRepeatable: true, by: deadline)
                guard let part = answer.ranges[0].first?.value else {
                    throw EtcdError(outcome: .unknown, description: "part \(number) of \(keys.snapshot) is missing")
                }
                try file.write(part.span, at: offset)
                offset += part.count
            }
            return try SnapshotReader.read(
                named: String(directory.temporaryPath(of: name).dropFirst(directory.path.count + 1)), in: directory,
                limits: limits
            ).state
        } catch let error as EtcdError {
            throw error
        } catch {
            throw EtcdError(outcome: .refused, description: "cannot read \(keys.snapshot): \(error)")
        }
    }

    /// Puts a snapshot, part by part. It counts once the pointer leads to it.
    ///
    /// - Parameters:
    ///   - id: the name of the snapshot: two daemons may write one of the same batch.
    ///   - put: puts one part.
    mutating func putParts(
        of state: State, at head: LogHead, as id: String, _ keys: LogKeys, in directory: DataDirectory,
        put: (inout EtcdClient, EtcdTransaction.Operation) throws(EtcdError) -> Void
    ) throws(EtcdError) -> LogSnapshot {
        let file: OpenFile
        do throws(FileError) {
            file = try directory.backup(of: state)
        } catch {
            throw EtcdError(outcome: .refused, description: "cannot write a snapshot for etcd: \(error)")
        }
        var part = [UInt8](repeating: 0, count: LogKeys.partSize)
        var (number, offset) = (0, 0)
        while true {
            let count: Int
            do throws(FileError) {
                count = try file.read(at: offset, into: &part)
            } catch {
                throw EtcdError(outcome: .refused, description: "cannot read a snapshot for etcd: \(error)")
            }
            guard count > 0 else { break }
            try put(&self, .put(keys.snapshotPart(number, of: id), Array(part[..<count])))
            (number, offset) = (number + 1, offset + count)
        }
        return LogSnapshot(head, id: id, parts: number, bytes: offset)
    }
}

/// A daemon's turn to put a snapshot into etcd, which no other daemon has at the same time.
///
/// It is a key with a lease, and the condition of every step. So a daemon that was paused for longer than the lease changes
/// nothing afterwards, and what an interrupted snapshot left is deleted by the next turn.
struct SnapshotTurn: Sendable {
    typealias Instant = ContinuousClock.Instant

    private static let leaseSeconds = 30
    /// The time for one step.
    private static let stepTime = Duration.seconds(10)

    private let keys: LogKeys
    /// The name of the snapshot, and the value of the key.
    private let id: String
    /// When the lease has to be renewed.
    private var renewal = Instant.now

    /// Takes the turn; nil if another daemon has it.
    init?(_ client: inout EtcdClient, _ keys: LogKeys) throws(EtcdError) {
        (self.keys, id) = (keys, LogHead.randomID())
        guard try claim(&client, after: nil) else { return nil }
    }

    private mutating func claim(_ client: inout EtcdClient, after held: [UInt8]?) throws(EtcdError) -> Bool {
        let start = Instant.now
        let lease = try client.call(EtcdLeaseGrant(seconds: Self.leaseSeconds), by: start + Self.stepTime)
        let put = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.snapshotClaim, value: held)],
            success: [.put(keys.snapshotClaim, Array(id.utf8), lease: lease)])
        renewal = start + .seconds(Self.leaseSeconds / 3)
        return try client.call(put, by: start + Self.stepTime).hasSucceeded
    }

    /// Carries out a step, on the condition that this daemon still has the turn, and that the pointer is as it was.
    private func step(
        _ operations: [EtcdTransaction.Operation], replacing old: LogSnapshot?, _ client: inout EtcdClient
    ) throws(EtcdError) {
        let transaction = EtcdTransaction(
            conditions: [
                EtcdTransaction.Condition(key: keys.snapshotClaim, value: Array(id.utf8)),
                EtcdTransaction.Condition(key: keys.snapshot, value: old?.value),
            ], success: operations)
        guard try client.call(transaction, by: .now + Self.stepTime).hasSucceeded else {
            throw EtcdError(outcome: .refused, description: "another daemon has taken the turn meanwhile")
        }
    }

    /// Puts a snapshot, moves the pointer to it, and deletes the other snapshots and the batches that neither this one nor the
    /// one before needs.
    ///
    /// - Parameter isAbandoned: true once the daemon stops.
    mutating func put(
        _ state: State, at head: LogHead, replacing old: LogSnapshot?, in directory: DataDirectory,
        isAbandoned: () -> Bool, _ client: inout EtcdClient
    ) throws(EtcdError) {
        // What a turn before this left, whose daemon failed or stopped.
        try step(keys.dropSnapshots(besides: old?.id), replacing: old, &client)
        let snapshot = try client.putParts(of: state, at: head, as: id, keys, in: directory) {
            (client, part) throws(EtcdError) in
            guard !isAbandoned() else { throw EtcdError(outcome: .refused, description: "the daemon stops") }
            if .now >= renewal { _ = try claim(&client, after: Array(id.utf8)) }
            try step([part], replacing: old, &client)
        }
        var operations: [EtcdTransaction.Operation] = [.put(keys.snapshot, snapshot.value)]
        operations += keys.dropSnapshots(besides: id)
        if let old {
            operations.append(.delete(keys.batch(LogHead.first), to: keys.batch(old.head.batch + 1)))
            operations.append(keys.dropParts(before: old.head.batch + 1))
        }
        // In one transaction: what is deleted later could be what the next pointer leads to.
        try step(operations, replacing: old, &client)
    }

    /// Gives the turn back, and deletes what an interrupted snapshot left. If that fails, the turn ends with its lease, and the
    /// next one deletes it.
    func end(replacing old: LogSnapshot?, _ client: inout EtcdClient, by deadline: Instant) {
        let mine = EtcdTransaction.Condition(key: keys.snapshotClaim, value: Array(id.utf8))
        let drop = EtcdTransaction(
            conditions: [mine, EtcdTransaction.Condition(key: keys.snapshot, value: old?.value)],
            success: keys.dropSnapshots(besides: old?.id))
        _ = try? client.call(drop, isRepeatable: true, by: deadline)
        let leave = EtcdTransaction(conditions: [mine], success: [.delete(keys.snapshotClaim)])
        _ = try? client.call(leave, isRepeatable: true, by: deadline)
    }
}
