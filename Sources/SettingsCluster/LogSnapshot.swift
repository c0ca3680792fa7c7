internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A pointer to a snapshot: a copy of the state in etcd that replaces the beginning of the commit log. The snapshot is
/// divided into parts, each under its own key. The value of the etcd key `snapshot` is the pointer: a line of JSON, and
/// the head (identifying line of JSON) of the last batch of the log that the snapshot contains.
///
///     {"revision":1234,"batch":987,"id":"x5…","parts":3,"bytes":2345678}
struct SnapshotPointer: Equatable, Sendable {
    let head: LogHead
    /// The random name of the snapshot.
    let id: String
    let parts: Int
    /// The size of all parts.
    let bytes: Int
    /// The value of the key `snapshot`.
    let value: [UInt8]

    init(_ head: LogHead, id: String, parts: Int, bytes: Int) {
        (self.head, self.id, self.parts, self.bytes) = (head, id, parts, bytes)
        var json = JSONWriter()
        json.beginObject()
        json.member("revision", head.revision)
        json.member("batch", head.batch)
        json.member("id", id)
        json.member("parts", Int64(parts))
        json.member("bytes", Int64(bytes))
        json.endObject()
        value = json.bytes + [UInt8(ascii: "\n")] + head.line
    }

    /// Reads the value of the key `snapshot`. Takes the revision and the batch from the head, not from the first line.
    init(_ value: [UInt8]) throws(LogDamage) {
        let end = value.firstIndex(of: UInt8(ascii: "\n")) ?? value.endIndex
        guard let json = try? JSONValue(parsing: Array(value[..<end])), let id = json["id"]?.string,
            let parts = json["parts"]?.integer.flatMap({ Int(exactly: $0) }),
            let bytes = json["bytes"]?.integer.flatMap({ Int(exactly: $0) })
        else { throw LogDamage("the first line lacks a JSON member, or a JSON member has the wrong type") }
        head = try LogHead(Array(value[end...].dropFirst()))
        (self.id, self.parts, self.bytes, self.value) = (id, parts, bytes, value)
    }
}

extension EtcdClient {
    /// Reads the pointer to the snapshot; nil if there is no snapshot.
    mutating func readSnapshotPointer(_ keys: LogKeys, by deadline: Instant) throws(EtcdError) -> SnapshotPointer? {
        let read = EtcdTransaction(success: [.range(EtcdRange(key: keys.snapshotPointer))])
        guard let value = try call(read, isRepeatable: true, by: deadline).ranges[0].first?.value else { return nil }
        do throws(LogDamage) {
            return try SnapshotPointer(value)
        } catch {
            throw EtcdError(outcome: .noEffect, description: "cannot read \(keys.snapshotPointer): \(error)")
        }
    }

    /// Reads a snapshot. Collects its parts in a temporary file, so that memory holds only one part at a time.
    mutating func readSnapshot(
        _ snapshot: SnapshotPointer, _ keys: LogKeys, limits: History.Limits, in directory: DataDirectory,
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
                    throw EtcdError(
                        outcome: .noEffect, description: "part \(number) of the snapshot \(snapshot.id) is missing")
                }
                try file.write(part.span, at: offset)
                offset += part.count
            }
            // `named` is the name of the temporary file: its path without the directory.
            return try SnapshotReader.read(
                named: String(directory.temporaryPath(of: name).dropFirst(directory.path.count + 1)), in: directory,
                limits: limits
            ).state
        } catch let error as EtcdError {
            throw error
        } catch {
            throw EtcdError(outcome: .noEffect, description: "cannot read the snapshot \(snapshot.id): \(error)")
        }
    }

    /// Puts the parts of a snapshot into etcd, and returns the pointer. The calling code must put the pointer into
    /// etcd.
    ///
    /// - Parameters:
    ///   - head: the head of the last batch in the state.
    ///   - id: the name of the snapshot. It is random, because two daemons may put a snapshot of the same batch.
    ///   - put: puts one part into etcd.
    mutating func putParts(
        of state: State, at head: LogHead, as id: String, _ keys: LogKeys, in directory: DataDirectory,
        put: (inout EtcdClient, EtcdTransaction.Operation) throws(EtcdError) -> Void
    ) throws(EtcdError) -> SnapshotPointer {
        let file: OpenFile
        do throws(FileError) {
            file = try directory.temporarySnapshot(of: state)
        } catch {
            throw EtcdError(outcome: .noEffect, description: "cannot write the temporary snapshot file: \(error)")
        }
        var part = [UInt8](repeating: 0, count: LogKeys.partSize)
        var (number, offset) = (0, 0)
        while true {
            let count: Int
            do throws(FileError) {
                count = try file.read(at: offset, into: &part)
            } catch {
                throw EtcdError(outcome: .noEffect, description: "cannot read the temporary snapshot file: \(error)")
            }
            guard count > 0 else { break }
            try put(&self, .put(keys.snapshotPart(number, of: id), Array(part[..<count])))
            (number, offset) = (number + 1, offset + count)
        }
        return SnapshotPointer(head, id: id, parts: number, bytes: offset)
    }
}

/// The lock that a daemon holds while it puts a snapshot into etcd, so that only one daemon at a time puts a snapshot.
///
/// The lock is a key that etcd deletes when its lease expires. Each transaction requires the key. So a daemon that was
/// paused for longer than the lease changes nothing afterwards. The next holder deletes the parts of an interrupted
/// snapshot.
struct SnapshotLock: Sendable {
    typealias Instant = ContinuousClock.Instant

    private static let leaseSeconds = 30
    /// The timeout of one call.
    private static let stepTimeout = Duration.seconds(10)

    private let keys: LogKeys
    /// The random name of the snapshot, which is also the value of the lock key.
    private let id: String
    /// When the lease must be renewed.
    private var renewalTime = Instant.now

    /// Acquires the lock; nil if another daemon holds it.
    init?(_ client: inout EtcdClient, _ keys: LogKeys) throws(EtcdError) {
        (self.keys, id) = (keys, LogHead.randomID())
        guard try acquire(&client, replacing: nil) else { return nil }
    }

    /// Writes the lock key with a new lease if the key has the value `held`, or if `held` is nil and the key does not
    /// exist. Otherwise returns false.
    private mutating func acquire(_ client: inout EtcdClient, replacing held: [UInt8]?) throws(EtcdError) -> Bool {
        let start = Instant.now
        let lease = try client.call(EtcdLeaseGrant(seconds: Self.leaseSeconds), by: start + Self.stepTimeout)
        let put = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.snapshotLock, value: held)],
            success: [.put(keys.snapshotLock, Array(id.utf8), lease: lease)])
        renewalTime = start + .seconds(Self.leaseSeconds / 3)
        return try client.call(put, by: start + Self.stepTimeout).conditionsHeld
    }

    /// Executes operations. Throws if this daemon no longer holds the lock, or if the pointer is no longer `old`.
    private func execute(
        _ operations: [EtcdTransaction.Operation], replacing old: SnapshotPointer?, _ client: inout EtcdClient
    ) throws(EtcdError) {
        let lockCondition = EtcdTransaction.Condition(key: keys.snapshotLock, value: Array(id.utf8))
        let pointerCondition = EtcdTransaction.Condition(key: keys.snapshotPointer, value: old?.value)
        let transaction = EtcdTransaction(conditions: [lockCondition, pointerCondition], success: operations)
        guard try client.call(transaction, by: .now + Self.stepTimeout).conditionsHeld else {
            throw EtcdError(
                outcome: .noEffect, description: "another daemon holds the lock for snapshots, or has put a snapshot")
        }
    }

    /// Puts a snapshot, moves the pointer to the snapshot, and deletes all other snapshots. Deletes only the batches
    /// that the previous snapshot contains, so that a daemon that is a few batches behind can still read the later
    /// batches.
    ///
    /// - Parameters:
    ///   - old: the pointer to the previous snapshot; nil if there is no snapshot.
    ///   - isCancelled: returns true when the daemon stops.
    mutating func putSnapshot(
        _ state: State, at head: LogHead, replacing old: SnapshotPointer?, in directory: DataDirectory,
        isCancelled: () -> Bool, _ client: inout EtcdClient
    ) throws(EtcdError) {
        // Delete the parts of an interrupted snapshot.
        try execute(keys.deleteSnapshots(except: old?.id), replacing: old, &client)
        let snapshot = try client.putParts(of: state, at: head, as: id, keys, in: directory) {
            (client, part) throws(EtcdError) in
            guard !isCancelled() else { throw EtcdError(outcome: .noEffect, description: "the daemon is stopping") }
            // If this daemon has lost the lock, `acquire` returns false, and `execute` throws an error.
            if .now >= renewalTime { _ = try acquire(&client, replacing: Array(id.utf8)) }
            try execute([part], replacing: old, &client)
        }
        var operations: [EtcdTransaction.Operation] = [.put(keys.snapshotPointer, snapshot.value)]
        operations += keys.deleteSnapshots(except: id)
        if let old {
            operations.append(.delete(keys.batch(LogHead.firstBatch), to: keys.batch(old.head.batch + 1)))
            operations.append(keys.deleteParts(before: old.head.batch + 1))
        }
        // One transaction executes all operations, because a separate deletion could delete the next snapshot, which
        // another daemon has put.
        try execute(operations, replacing: old, &client)
    }

    /// Releases the lock. If the pointer is still `old`, the snapshot of this daemon is incomplete, so its parts are
    /// deleted. If a call fails, the lock expires with its lease, and the next holder deletes the parts.
    func release(keeping old: SnapshotPointer?, _ client: inout EtcdClient, by deadline: Instant) {
        let lockCondition = EtcdTransaction.Condition(key: keys.snapshotLock, value: Array(id.utf8))
        let deletion = EtcdTransaction(
            conditions: [lockCondition, EtcdTransaction.Condition(key: keys.snapshotPointer, value: old?.value)],
            success: keys.deleteSnapshots(except: old?.id))
        _ = try? client.call(deletion, isRepeatable: true, by: deadline)
        let unlock = EtcdTransaction(conditions: [lockCondition], success: [.delete(keys.snapshotLock)])
        _ = try? client.call(unlock, isRepeatable: true, by: deadline)
    }
}
