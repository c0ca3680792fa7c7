internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The end of the log in etcd, one line of JSON. It is the value of the key `head`, and the first line of the batch that it
/// names.
///
///     {"format":2,"epoch":"a85sr0c6","revision":1234,"batch":987,"id":"x5…","previous":"9k…","daemon":"h1…","bytes":51234}
///
/// The `id` is random. So equal lines are the same end, also in an etcd that was restored and gave out its own revisions
/// again.
struct LogHead: Hashable, Sendable {
    static let format: Int64 = 2

    /// The history that the batch belongs to.
    let epoch: Epoch
    /// The last revision, that of the epoch's beginning if nothing was committed since.
    let revision: Revision
    let batch: Int64
    let id: String
    /// The `id` of the batch before; empty in the first.
    let previous: String
    /// The daemon that wrote the batch.
    let daemon: String
    /// The bytes of all batches up to this one.
    let bytes: Int64
    /// The number of keys that hold the commits; 0 if they stand behind the line.
    let parts: Int
    /// True if the epoch begins with the batch.
    let beginsEpoch: Bool
    /// The line, as it is compared.
    let line: [UInt8]

    init(
        epoch: Epoch, revision: Revision, batch: Int64, id: String, previous: String, daemon: String, bytes: Int64,
        parts: Int, beginsEpoch: Bool
    ) {
        var json = JSONWriter()
        json.beginObject()
        json.name(literal: "format")
        json.write(integer: Self.format)
        json.name(literal: "epoch")
        json.write(string: epoch.text)
        json.name(literal: "revision")
        revision.write(to: &json)
        json.name(literal: "batch")
        json.write(integer: batch)
        json.name(literal: "id")
        json.write(string: id)
        json.name(literal: "previous")
        json.write(string: previous)
        json.name(literal: "daemon")
        json.write(string: daemon)
        json.name(literal: "bytes")
        json.write(integer: bytes)
        if parts > 0 {
            json.name(literal: "parts")
            json.write(integer: Int64(parts))
        }
        if beginsEpoch {
            json.name(literal: "beginsEpoch")
            json.write(bool: true)
        }
        json.endObject()
        line = json.bytes
        (self.epoch, self.revision, self.batch, self.id, self.previous) = (epoch, revision, batch, id, previous)
        (self.daemon, self.bytes, self.parts, self.beginsEpoch) = (daemon, bytes, parts, beginsEpoch)
    }

    /// Reads a line; throws if it is in no form that this version knows.
    init(_ line: [UInt8]) throws(LogDamage) {
        guard let json = try? JSONValue(parsing: line), let format = json["format"]?.integer else {
            throw LogDamage("it does not begin with a head")
        }
        guard format <= Self.format else {
            throw LogDamage("it is of format \(format), which a newer version writes")
        }
        guard let epoch = json["epoch"]?.string.flatMap({ Epoch($0) }),
            let revision = json["revision"]?.integer.flatMap({ Revision($0) }), let batch = json["batch"]?.integer,
            let id = json["id"]?.string, let previous = json["previous"]?.string, let daemon = json["daemon"]?.string,
            let bytes = json["bytes"]?.integer
        else { throw LogDamage("its head has another form") }
        self.line = line
        (self.epoch, self.revision, self.batch, self.id, self.previous) = (epoch, revision, batch, id, previous)
        (self.daemon, self.bytes) = (daemon, bytes)
        parts = json["parts"]?.integer.flatMap { Int(exactly: $0) } ?? 0
        beginsEpoch = json["beginsEpoch"]?.bool ?? false
    }

    /// The place of the first batch of a log.
    static let first: Int64 = 0

    /// The end before a batch that begins a log.
    static func beginning(_ epoch: Epoch, at revision: Revision = .zero, by daemon: String) -> LogHead {
        LogHead(
            epoch: epoch, revision: revision, batch: first, id: randomID(), previous: "", daemon: daemon, bytes: 0,
            parts: 0, beginsEpoch: true)
    }

    /// Returns the end after another batch.
    func next(
        to revision: Revision, bytes: Int, parts: Int, by daemon: String, beginning epoch: Epoch? = nil
    ) -> LogHead {
        LogHead(
            epoch: epoch ?? self.epoch, revision: revision, batch: batch + 1, id: Self.randomID(), previous: id,
            daemon: daemon, bytes: self.bytes + Int64(bytes), parts: parts, beginsEpoch: epoch != nil)
    }

    /// Returns a name that no other has.
    static func randomID() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }
}

/// A batch of the log: its head, and its commits as lines of a journal.
struct LogEntry: Sendable {
    let head: LogHead
    private let lines: [UInt8]

    init(_ head: LogHead, lines: [UInt8]) {
        self.head = head
        self.lines = lines
    }

    /// Reads the value of a key of the log. The commits of a batch in parts are to be read in addition.
    init(_ value: [UInt8]) throws(LogDamage) {
        let end = value.firstIndex(of: UInt8(ascii: "\n")) ?? value.endIndex
        head = try LogHead(Array(value[..<end]))
        lines = Array(value[end...].dropFirst())
    }

    /// Returns the entry with the commits that stand in its parts.
    func with(parts: [[UInt8]]) -> LogEntry { LogEntry(head, lines: Array(parts.joined())) }

    /// The bytes of the commits.
    var size: Int { lines.count }

    /// True if the commits stand in parts that are to be read.
    var lacksParts: Bool { head.parts > 0 && lines.isEmpty }

    /// The value of the key.
    var value: [UInt8] { head.line + [UInt8(ascii: "\n")] + (head.parts > 0 ? [] : lines) }

    /// The values of the keys of the parts.
    var parts: [[UInt8]] {
        guard head.parts > 0 else { return [] }
        return stride(from: 0, to: lines.count, by: LogKeys.partSize).map { start in
            Array(lines[start..<min(lines.count, start + LogKeys.partSize)])
        }
    }

    /// Applies the batch to the state behind the batch before it. Throws at the first commit that cannot be applied.
    func apply(to state: inout State) throws(LogDamage) {
        var followed = FollowedState(state)
        defer { state = followed.state }
        try apply(to: &followed)
    }

    /// Applies the batch to the state behind the batch before it. Throws at the first commit that cannot be applied.
    func apply(to followed: inout FollowedState) throws(LogDamage) {
        if head.beginsEpoch { followed.beginEpoch(head.epoch, at: max(head.revision, followed.state.revision)) }
        var rest = lines[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = Array(rest[..<end])
            rest = rest[(end + 1)...]
            guard
                case .success(.commit(let json, let revision, let after, _)) = JournalLine.read(
                    line.span, isTerminated: true)
            else { throw LogDamage("the check of a commit fails") }
            guard after == followed.state.revision else {
                throw LogDamage("commit \(revision) follows \(after), but the last one is \(followed.state.revision)")
            }
            do {
                try followed.apply(followed.state.completed(Commit(json: json)))
            } catch {
                throw LogDamage("commit \(revision) cannot be applied: \(error)")
            }
        }
        guard rest.isEmpty, followed.state.revision == head.revision else {
            throw LogDamage("it ends at \(followed.state.revision) instead of \(head.revision)")
        }
    }
}

/// The error of a batch that cannot be read or applied.
struct LogDamage: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The keys of the log, under the prefix.
struct LogKeys: Sendable {
    /// The most bytes of a value. etcd takes requests of up to 1.5 MiB.
    static let partSize = 1 << 20

    private let prefix: String

    init(_ prefix: String) {
        self.prefix = prefix + "/"
    }

    /// The end of the log: the one key that a write compares.
    var head: String { prefix + "head" }
    /// The daemon whose turn is next.
    var claim: String { prefix + "claim" }
    /// Where a daemon that knows nothing begins.
    var snapshot: String { prefix + "snapshot" }
    /// The snapshot that a daemon is putting, under a lease.
    var snapshotClaim: String { prefix + "snapshotting" }
    var log: String { prefix + "log/" }
    /// The end of a range of batches.
    var logEnd: String { prefix + "log0" }
    var daemons: String { prefix + "daemons/" }
    var daemonsEnd: String { prefix + "daemons0" }

    /// The key of a batch. The names are ordered as the numbers are.
    func batch(_ number: Int64) -> String { log + Self.digits(number, 16) }

    /// Deletes the parts of all batches before one.
    func dropParts(before batch: Int64) -> EtcdTransaction.Operation {
        .delete(prefix + "parts/", to: prefix + "parts/" + Self.digits(batch, 16))
    }

    /// The key of a part of a batch. It has the batch's random `id`, as two daemons may write the same number at once.
    func part(_ number: Int, of head: LogHead) -> String {
        "\(prefix)parts/\(Self.digits(head.batch, 16))/\(head.id)/\(Self.digits(Int64(number), 8))"
    }

    /// Deletes the parts of a batch.
    func dropParts(of head: LogHead) -> EtcdTransaction.Operation {
        let folder = "\(prefix)parts/\(Self.digits(head.batch, 16))/\(head.id)"
        return .delete(folder + "/", to: folder + "0")
    }

    func snapshotPart(_ number: Int, of id: String) -> String {
        "\(prefix)snapshots/\(id)/\(Self.digits(Int64(number), 8))"
    }

    /// Deletes the parts of all snapshots, or of all but one.
    func dropSnapshots(besides id: String?) -> [EtcdTransaction.Operation] {
        let all = (from: "\(prefix)snapshots/", to: "\(prefix)snapshots0")
        guard let id else { return [.delete(all.from, to: all.to)] }
        return [.delete(all.from, to: "\(all.from)\(id)/"), .delete("\(all.from)\(id)0", to: all.to)]
    }

    private static func digits(_ number: Int64, _ count: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
}
