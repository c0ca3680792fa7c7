internal import Platform
package import SettingsAPI
package import SettingsModel

/// The storage that a write must reach before the daemon acknowledges the write.
package enum Durability: String, CaseIterable, Sendable {
    /// The write is in the journal and the journal is synced. A crash loses no acknowledged write.
    case always
    /// The write is in the journal, which is synced once per interval. A crash may lose the writes since the last sync.
    case interval
    /// The write is in memory. Journals contain no commits; the next snapshot (a file with the complete state) makes
    /// the write durable.
    case snapshot
}

/// The first line of a journal (a file with one line for each commit): where the journal continues the history.
package struct JournalHead: Hashable, Sendable {
    /// The version of the file format that this daemon writes.
    package static let currentFormat: Int64 = 2

    /// The epoch of the commits: the name of the history to which their revisions belong.
    package var epoch: Epoch
    /// The revision before the first commit of the journal. It is also in the name of the file.
    package var revision: Revision
    /// The revision of the last commit before the journal. If an older journal has commits after this revision,
    /// recovery ignores these commits, because they were never visible to readers, or this journal repeats them. The
    /// predecessor usually equals ``revision``. If an epoch begins with this journal, the predecessor is lower, because
    /// a new epoch skips revisions.
    package var predecessor: Revision
    /// The configured durability when the journal was created.
    package var durability: Durability
    /// The identifier of the data directory in which the journal was created; nil if no daemon created the journal, but
    /// a command: a repair, the restore of a backup, or an export from etcd.
    package var directoryID: String?

    var beginsEpoch: Bool { revision != predecessor }

    var mayLoseAcknowledgedWrites: Bool { durability != .always }
}

/// A line of a journal, or the only line of the file `NEWEST`: a JSON object. Its first member, `crc`, is the CRC-32C
/// of the bytes from the second member up to the end of the line.
///
///     {"crc":"0badcafe","journal":2,"epoch":"7f3a…","revision":16,"after":16,"durability":"always",…}
///     {"crc":"1a2b3c4d","after":16,"synced":true,"commit":{"revision":17,…}}
///     {"crc":"5e6f7a8b","after":17,"closed":true}
///     {"crc":"7a8b9c0d","newest":"journal-17.jsonl"}
///
/// `after` is the revision of the previous commit, so that a reader notices a missing line. `synced` says that
/// everything before the line was on disk before the line was written. If a sync preceded a batch, the first line of
/// the batch has this member. After the last line, the file may have zeros: preallocated space for later lines.
package enum JournalLine {
    case head(JournalHead)
    /// A commit that is not decoded yet, its revision, and the revision of the commit before it.
    case commit(JSONValue, Revision, after: Revision, followsSync: Bool)
    /// The last line of a journal if the daemon stopped cleanly.
    case closed(after: Revision)
    case newest(String)

    /// The reason why a line cannot be read.
    package enum Failure: Error {
        /// The checksum does not match, or the line has no checksum.
        case checksum
        /// The checksum matches, but the line is none of the lines that this version knows.
        case content
        /// The line is the head of a journal in a newer format, whose version is given.
        case newerFormat(Int64)
    }

    /// Parses a line. The checksum does not cover the line feed, so a line is valid even if a crash has damaged or
    /// removed its line feed.
    ///
    /// - Parameters:
    ///   - bytes: the line without its line feed; for the last line, all bytes up to the end of the file.
    ///   - isTerminated: true if a line feed follows the bytes.
    package static func read(_ bytes: Span<UInt8>, isTerminated: Bool) -> Result<JournalLine, Failure> {
        guard let length = length(of: bytes, isTerminated: isTerminated) else { return .failure(.checksum) }
        guard let json = try? JSONValue(stored: bytes.extracting(0..<length)) else { return .failure(.content) }
        if let line = JournalLine(json) { return .success(line) }
        if let format = json["journal"]?.integer, format > JournalHead.currentFormat {
            return .failure(.newerFormat(format))
        }
        return .failure(.content)
    }

    /// Parses a line with a checksum and any other members, given without its line feed; nil if the checksum is wrong
    /// or the line is not JSON.
    static func verifiedJSON(_ line: Span<UInt8>) -> JSONValue? {
        hasValidChecksum(line) ? try? JSONValue(stored: line) : nil
    }

    /// True if everything before the line was on disk before the line was written. Always true for a line without a
    /// commit: a head and `newest` are the first lines of their files, and the daemon syncs the journal before it
    /// writes the line `closed`.
    var followsSync: Bool {
        if case .commit(_, _, _, let followsSync) = self { return followsSync }
        return true
    }

    private init?(_ json: JSONValue) {
        let after = json["after"]?.integer.flatMap { Revision($0) }
        if let commit = json["commit"] {
            guard let after, let revision = commit["revision"]?.integer.flatMap({ Revision($0) }) else { return nil }
            self = .commit(commit, revision, after: after, followsSync: json["synced"]?.bool ?? false)
        } else if json["journal"] != nil {
            guard let head = JournalHead(json) else { return nil }
            self = .head(head)
        } else if let newest = json["newest"]?.string {
            self = .newest(newest)
        } else {
            guard let after, json["closed"]?.bool == true else { return nil }
            self = .closed(after: after)
        }
    }

    // A line: the prefix, eight hexadecimal digits of the checksum, the separator, the bytes that the checksum covers.
    private static let prefix: StaticString = "{\"crc\":\""
    private static let separator: StaticString = "\","
    /// The offset of the first byte that the checksum covers: 8 bytes of prefix, 8 digits, 2 bytes of separator.
    private static let checksummedStart = 18

    /// The length of the line; nil if the checksum does not match.
    private static func length(of bytes: Span<UInt8>, isTerminated: Bool) -> Int? {
        if isTerminated { return hasValidChecksum(bytes) ? bytes.count : nil }
        // At the end of the file, zeros may follow the line, and its last byte may be a damaged line feed.
        let count = bytes.countWithoutTrailingZeros
        return [count, count - 1].first { $0 > 0 && hasValidChecksum(bytes.extracting(0..<$0)) }
    }

    /// True if the checksum of a line, given without its line feed, matches.
    private static func hasValidChecksum(_ line: Span<UInt8>) -> Bool {
        let digits = prefix.utf8CodeUnitCount..<(prefix.utf8CodeUnitCount + 8)
        guard line.count > checksummedStart, line.extracting(0..<digits.lowerBound).isEqual(to: prefix),
            line.extracting(digits.upperBound..<checksummedStart).isEqual(to: separator)
        else { return false }
        return CRC32C(of: line.extracting(checksummedStart..<line.count)).matches(hexDigits: line.extracting(digits))
    }

    /// Inserts the checksum as the first member of a JSON object, and appends the object to `bytes` as a line.
    static func write(_ json: borrowing JSONWriter, to bytes: inout [UInt8]) {
        let line = json.bytes
        let checksummed = line.span.extracting(1..<line.count)
        bytes.append(prefix)
        bytes.append(bytesOf: CRC32C(of: checksummed).hexDigits.span)
        bytes.append(separator)
        bytes.append(bytesOf: checksummed)
        bytes.append(UInt8(ascii: "\n"))
    }
}

/// A buffer that collects the lines of a batch, which a single write appends to a journal. Each batch reuses the
/// buffer.
package struct JournalBatch: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// The revision of the last commit in the batch; nil if the batch has no commit.
    package private(set) var lastRevision: Revision?
    private var json = JSONWriter()

    /// An emptied batch keeps its memory up to this capacity, so that one large commit does not occupy memory forever.
    private static let maximumRetainedCapacity = 1 << 20

    package init() {}

    var isEmpty: Bool { bytes.isEmpty }

    package mutating func add(_ commit: Commit, after predecessor: Revision, followsSync: Bool) {
        add { json in
            json.name(literal: "after")
            json.write(integer: predecessor.number)
            if followsSync {
                json.name(literal: "synced")
                json.write(bool: true)
            }
            json.name(literal: "commit")
            // Omits the values that the commit replaced. A start takes these values from the state before the commit.
            commit.writeForJournal(to: &json)
        }
        lastRevision = commit.revision
    }

    mutating func add(_ head: JournalHead) {
        add { json in
            json.member("journal", JournalHead.currentFormat)
            json.member("epoch", head.epoch.text)
            json.member("revision", head.revision)
            json.member("after", head.predecessor)
            json.member("durability", head.durability.rawValue)
            json.member("directory", head.directoryID)
        }
    }

    mutating func addNewestJournal(_ name: String) {
        add { $0.member("newest", name) }
    }

    mutating func addCleanStop(after revision: Revision) {
        add { json in
            json.member("after", revision)
            json.member("closed", true)
        }
    }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.maximumRetainedCapacity)
        lastRevision = nil
    }

    private mutating func add(_ members: (inout JSONWriter) -> Void) {
        json.removeAll(keepingCapacity: true)
        json.beginObject()
        members(&json)
        json.endObject()
        JournalLine.write(json, to: &bytes)
        if json.bytes.capacity > Self.maximumRetainedCapacity { json = JSONWriter() }
    }
}

extension JournalHead {
    /// Decodes a head; nil if a member is missing or invalid, or if the format is newer.
    fileprivate init?(_ json: JSONValue) {
        guard let format = json["journal"]?.integer, format <= Self.currentFormat,
            let epoch = json["epoch"]?.string.flatMap({ Epoch($0) }),
            let revision = json["revision"]?.integer.flatMap({ Revision($0) }),
            let after = json["after"]?.integer.flatMap({ Revision($0) }), after <= revision,
            let durability = json["durability"]?.string.flatMap({ Durability(rawValue: $0) })
        else { return nil }
        self.init(
            epoch: epoch, revision: revision, predecessor: after, durability: durability,
            directoryID: json["directory"]?.string)
    }
}

extension JSONValue {
    /// Parses a document that the daemon wrote. The document contains values, so it may be nested deeper than a value.
    init(stored bytes: Span<UInt8>) throws(JSONParseError) {
        try self.init(parsing: bytes, maximumDepth: JSONValue.maximumDepthAroundValues)
    }
}

extension [UInt8] {
    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { append(contentsOf: $0) }
    }

    mutating func append(bytesOf span: Span<UInt8>) {
        span.withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}

extension Span<UInt8> {
    func isEqual(to text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { buffer in
            for index in 0..<buffer.count where buffer[index] != self[index] { return false }
            return true
        }
    }

    var countWithoutTrailingZeros: Int {
        var end = count
        while end > 0, self[end - 1] == 0 { end -= 1 }
        return end
    }
}
