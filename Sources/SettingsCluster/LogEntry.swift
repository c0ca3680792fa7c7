internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The head of a batch (commits that are appended together) of the commit log in etcd: a line of JSON that identifies
/// the batch. The etcd key `head` contains the head of the last batch of the log. Each batch is stored under a key of
/// its own, and its value begins with its head.
///
///     {"format":2,"epoch":"a85sr0c6","revision":34,"batch":12,"id":"x5…","previous":"9k…","daemon":"h1…","bytes":5123}
///
/// The `id` is random, so equal lines identify the same batch, even if etcd was restored and numbers are used again.
struct LogHead: Hashable, Sendable {
    static let format: Int64 = 2

    /// The epoch of the commits in the batch: the name of one history, in which revisions are comparable.
    let epoch: Epoch
    /// The revision of the state after the batch.
    let revision: Revision
    /// The number of the batch. Each batch has the number of the previous batch plus one.
    let batch: Int64
    let id: String
    /// The `id` of the previous batch; empty in the first batch.
    let previous: String
    /// The identifier of the daemon that wrote the batch; `import` or `new-epoch` for a command of an operator.
    let daemon: String
    /// The total size of the commits in all batches up to this batch. The JSON calls it `bytes`.
    let logBytes: Int64
    /// The number of separate keys that contain the commits of a large batch; 0 if the commits follow the head.
    let parts: Int
    /// True if the batch begins a new epoch. Such a batch contains no commits.
    let beginsEpoch: Bool
    /// The line of JSON, which transactions compare with the key `head`.
    let line: [UInt8]

    init(
        epoch: Epoch, revision: Revision, batch: Int64, id: String, previous: String, daemon: String, logBytes: Int64,
        parts: Int, beginsEpoch: Bool
    ) {
        var json = JSONWriter()
        json.beginObject()
        json.member("format", Self.format)
        json.member("epoch", epoch.text)
        json.member("revision", revision)
        json.member("batch", batch)
        json.member("id", id)
        json.member("previous", previous)
        json.member("daemon", daemon)
        json.member("bytes", logBytes)
        if parts > 0 { json.member("parts", Int64(parts)) }
        if beginsEpoch { json.member("beginsEpoch", true) }
        json.endObject()
        line = json.bytes
        (self.epoch, self.revision, self.batch, self.id, self.previous) = (epoch, revision, batch, id, previous)
        (self.daemon, self.logBytes, self.parts, self.beginsEpoch) = (daemon, logBytes, parts, beginsEpoch)
    }

    /// Parses a line. Throws if it is not a valid head or has a newer format.
    init(_ line: [UInt8]) throws(LogDamage) {
        guard let json = try? JSONValue(parsing: line), let format = json["format"]?.integer else {
            throw LogDamage(#"a line that must be a batch head is not JSON with the member "format""#)
        }
        guard format <= Self.format else {
            throw LogDamage("a batch has format \(format), which requires a newer version of settingsd")
        }
        guard let epoch = json["epoch"]?.string.flatMap({ Epoch($0) }),
            let revision = json["revision"]?.integer.flatMap({ Revision($0) }), let batch = json["batch"]?.integer,
            let id = json["id"]?.string, let previous = json["previous"]?.string, let daemon = json["daemon"]?.string,
            let logBytes = json["bytes"]?.integer
        else { throw LogDamage("a batch head lacks a JSON member, or a JSON member has the wrong type") }
        self.line = line
        (self.epoch, self.revision, self.batch, self.id, self.previous) = (epoch, revision, batch, id, previous)
        (self.daemon, self.logBytes) = (daemon, logBytes)
        parts = json["parts"]?.integer.flatMap { Int(exactly: $0) } ?? 0
        beginsEpoch = json["beginsEpoch"]?.bool ?? false
    }

    static let firstBatch: Int64 = 0

    /// The head of the first batch of a log. The batch contains no commits.
    static func beginning(_ epoch: Epoch, at revision: Revision = .zero, writer daemon: String) -> LogHead {
        LogHead(
            epoch: epoch, revision: revision, batch: firstBatch, id: randomID(), previous: "", daemon: daemon,
            logBytes: 0, parts: 0, beginsEpoch: true)
    }

    /// Returns the head of the next batch.
    ///
    /// - Parameters:
    ///   - bytes: the size of the commits in the next batch.
    ///   - epoch: the epoch that the next batch begins; nil if the next batch continues the epoch of this batch.
    func next(
        to revision: Revision, bytes: Int, parts: Int, writer daemon: String, beginning epoch: Epoch? = nil
    ) -> LogHead {
        LogHead(
            epoch: epoch ?? self.epoch, revision: revision, batch: batch + 1, id: Self.randomID(), previous: id,
            daemon: daemon, logBytes: logBytes + Int64(bytes), parts: parts, beginsEpoch: epoch != nil)
    }

    static func randomID() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }
}

/// A batch of the log: its head, and its commits as lines in the format of the local journal (see ``JournalLine``).
struct LogEntry: Sendable {
    let head: LogHead
    private let lines: [UInt8]

    init(_ head: LogHead, lines: [UInt8]) { (self.head, self.lines) = (head, lines) }

    /// Parses the value under the key of a batch. The value has no commits if the commits are in parts: see
    /// ``withCommits(from:)``.
    init(_ value: [UInt8]) throws(LogDamage) {
        let end = value.firstIndex(of: UInt8(ascii: "\n")) ?? value.endIndex
        head = try LogHead(Array(value[..<end]))
        lines = Array(value[end...].dropFirst())
    }

    /// Returns this batch with the commits from its parts, which were read from their own keys.
    func withCommits(from parts: [[UInt8]]) -> LogEntry { LogEntry(head, lines: Array(parts.joined())) }

    /// The size of the commits.
    var byteCount: Int { lines.count }

    /// True if the commits are in parts that have not been read yet.
    var lacksParts: Bool { head.parts > 0 && lines.isEmpty }

    /// The value under the key of the batch: the head, and the commits unless they are in parts.
    var value: [UInt8] { head.line + [UInt8(ascii: "\n")] + (head.parts > 0 ? [] : lines) }

    /// The values under the keys of the parts; empty unless the batch is large.
    var parts: [[UInt8]] {
        guard head.parts > 0 else { return [] }
        return stride(from: 0, to: lines.count, by: LogKeys.partSize).map { start in
            Array(lines[start..<min(lines.count, start + LogKeys.partSize)])
        }
    }

    /// Applies the batch to the state after the previous batch. Throws at the first commit that cannot be applied.
    func apply(to state: inout State) throws(LogDamage) {
        var followed = FollowedState(state)
        defer { state = followed.state }
        try apply(to: &followed)
    }

    /// Applies the batch to a ``FollowedState``, which also collects the applied commits.
    func apply(to followed: inout FollowedState) throws(LogDamage) {
        // If the head has a lower revision than the state, the check after the loop throws.
        if head.beginsEpoch { followed.beginEpoch(head.epoch, at: max(head.revision, followed.state.revision)) }
        var rest = lines[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(rest[..<end])
            rest = rest[(end + 1)...]
            guard
                case .success(.commit(let json, let revision, let after, _)) = JournalLine.read(
                    line.span, isTerminated: true)
            else { throw LogDamage("a line is not a commit with a valid checksum") }
            guard after == followed.state.revision else {
                throw LogDamage("commit \(revision) follows revision \(after), not \(followed.state.revision)")
            }
            do {
                // A line omits the values that the commit replaces, because the state before the commit contains them.
                try followed.apply(followed.state.addingReplacedValues(to: Commit(json: json)))
            } catch { throw LogDamage("commit \(revision) cannot be applied: \(error)") }
        }
        guard rest.isEmpty, followed.state.revision == head.revision else {
            throw LogDamage("the batch ends at revision \(followed.state.revision) instead of \(head.revision)")
        }
    }
}

/// The error of a value in etcd, or of a file in the data directory, that cannot be parsed or applied.
struct LogDamage: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The names of the keys of the log in etcd, which begin with the prefix from the configuration.
struct LogKeys: Sendable {
    /// The maximum bytes of commits or of a snapshot under one key. etcd limits a request to 1.5 MiB by default.
    static let partSize = 1 << 20

    private let prefix: String

    init(_ prefix: String) { self.prefix = prefix + "/" }

    /// The head of the last batch. Each write compares this value, so that two daemons cannot append at the same time.
    var head: String { prefix + "head" }
    /// The identifier of the daemon that has claimed the next batch (see ``LogWriter``).
    var claim: String { prefix + "claim" }
    /// The ``SnapshotPointer`` to the snapshot from which a daemon without a copy of the state starts.
    var snapshotPointer: String { prefix + "snapshot" }
    /// The ``SnapshotLock`` of the daemon that is putting a snapshot.
    var snapshotLock: String { prefix + "snapshotting" }
    /// The prefix of the keys of batches.
    var batches: String { prefix + "log/" }
    /// The exclusive end of the range of the keys of batches: `0` is the character after `/`.
    var batchesEnd: String { prefix + "log0" }
    /// The prefix of the keys of the ``DaemonRecord`` values.
    var daemons: String { prefix + "daemons/" }
    var daemonsEnd: String { prefix + "daemons0" }
    /// The prefix of the keys of the records about clients, which ``PeerExchange`` writes.
    var clients: String { prefix + "clients/" }
    var clientsEnd: String { prefix + "clients0" }

    /// The key of a batch. The numbers have a fixed width, so that the order of the keys is the order of the numbers.
    func batch(_ number: Int64) -> String { batches + Self.hexadecimal(number, digits: 16) }

    /// The operation that deletes the parts of all batches before a batch.
    func deleteParts(before batch: Int64) -> EtcdTransaction.Operation {
        .delete(prefix + "parts/", to: prefix + "parts/" + Self.hexadecimal(batch, digits: 16))
    }

    /// The key of a part of a batch. It contains the random `id`, because two daemons may use the same batch number.
    func part(_ number: Int, of head: LogHead) -> String {
        let batch = Self.hexadecimal(head.batch, digits: 16)
        return "\(prefix)parts/\(batch)/\(head.id)/\(Self.hexadecimal(Int64(number), digits: 8))"
    }

    /// The operation that deletes the parts of one batch.
    func deleteParts(of head: LogHead) -> EtcdTransaction.Operation {
        let folder = "\(prefix)parts/\(Self.hexadecimal(head.batch, digits: 16))/\(head.id)"
        return .delete(folder + "/", to: folder + "0")
    }

    /// The key of a part of the snapshot with the name `id`.
    func snapshotPart(_ number: Int, of id: String) -> String {
        "\(prefix)snapshots/\(id)/\(Self.hexadecimal(Int64(number), digits: 8))"
    }

    /// The operations that delete the parts of all snapshots except the snapshot with the name `id`; of all snapshots
    /// if `id` is nil.
    func deleteSnapshots(except id: String?) -> [EtcdTransaction.Operation] {
        let all = (from: "\(prefix)snapshots/", to: "\(prefix)snapshots0")
        guard let id else { return [.delete(all.from, to: all.to)] }
        return [.delete(all.from, to: "\(all.from)\(id)/"), .delete("\(all.from)\(id)0", to: all.to)]
    }

    private static func hexadecimal(_ number: Int64, digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
