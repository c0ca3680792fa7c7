internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
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
    mutating func putParts(
        of state: State, at head: LogHead, _ keys: LogKeys, in directory: DataDirectory
    ) throws(EtcdError) -> LogSnapshot {
        let file: OpenFile
        do throws(FileError) {
            file = try directory.backup(of: state)
        } catch {
            throw EtcdError(outcome: .refused, description: "cannot write a snapshot for etcd: \(error)")
        }
        // Two daemons may write one of the same batch.
        let id = LogHead.randomID()
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
            let put = EtcdTransaction(success: [.put(keys.snapshotPart(number, of: id), Array(part[..<count]))])
            _ = try call(put, isRepeatable: true, by: .now + Self.snapshotTime)
            (number, offset) = (number + 1, offset + count)
        }
        return LogSnapshot(head, id: id, parts: number, bytes: offset)
    }

    /// Puts a snapshot, moves the pointer to it, and deletes the other snapshots and the batches that neither this one nor the
    /// one before needs. Returns false if another daemon was first: then the parts stay until the next.
    mutating func putSnapshot(
        of state: State, at head: LogHead, replacing old: LogSnapshot?, _ keys: LogKeys, in directory: DataDirectory
    ) throws(EtcdError) -> Bool {
        let snapshot = try putParts(of: state, at: head, keys, in: directory)
        var trim = keys.snapshotParts(besides: snapshot.id)
        if let old {
            trim.append((keys.batch(LogHead.first), keys.batch(old.head.batch + 1)))
            trim.append(keys.parts(before: old.head.batch + 1))
        }
        // In one transaction: what is deleted later could be what the next pointer leads to.
        let move = EtcdTransaction(
            conditions: [EtcdTransaction.Condition(key: keys.snapshot, value: old?.value)],
            success: [.put(keys.snapshot, snapshot.value)] + trim.map { .delete($0.from, to: $0.to) })
        return try call(move, by: .now + Self.snapshotTime).hasSucceeded
    }

    /// The time for one step of a snapshot.
    private static let snapshotTime = Duration.seconds(30)
}
