internal import Platform
package import SettingsAPI
package import SettingsModel

/// When a write is acknowledged.
package enum Durability: String, CaseIterable, Sendable {
    /// When it is on disk: no acknowledged write is ever lost.
    case always
    /// When the operating system has it. A sync follows within the interval; a crash of the machine may lose that much.
    case interval
    /// When it is in memory. The next snapshot has it.
    case snapshot
}

/// The first line of a journal: what its commits follow, and how far they can be trusted.
package struct JournalHead: Hashable, Sendable {
    /// The format that this daemon writes.
    package static let currentFormat: Int64 = 2

    /// The history that the commits belong to.
    package var epoch: Epoch
    /// The revision that the first commit here follows. The file is named by it.
    package var revision: Revision
    /// The last commit of older journals that counts; what they have beyond it never was published. It is ``revision``,
    /// or an earlier one where an epoch begins with the file.
    package var after: Revision
    /// The durability in force when the journal was begun.
    package var durability: Durability
    /// The name of the directory that the file was written in; nil if a repair wrote it.
    package var directory: String?

    /// True if a new epoch begins with the file.
    var beginsEpoch: Bool { revision != after }

    /// True if a crash may have taken what was acknowledged.
    var mayLose: Bool { durability != .always }
}

/// A line of a journal, or the one line of `NEWEST`: an object whose first member is the CRC-32C of all that comes after
/// it in the line.
///
///     {"crc":"0badcafe","journal":2,"epoch":"7f3a…","revision":16,"after":16,"durability":"always",…}
///     {"crc":"1a2b3c4d","after":16,"synced":true,"commit":{"revision":17,…}}
///     {"crc":"5e6f7a8b","after":17,"closed":true}
///     {"crc":"7a8b9c0d","newest":"journal-17.jsonl"}
///
/// `after` names the commit before, so that a line that is missing is noticed. `synced` says that everything before the
/// line was on disk before the line was written: it stands on the first line of each batch that a sync covers. Behind
/// the last line there may be zeros, which is room for lines to come.
package enum JournalLine {
    case head(JournalHead)
    /// A commit that is not decoded yet, with its revision.
    case commit(JSONValue, Revision, after: Revision, followsSync: Bool)
    /// The mark of a clean stop.
    case closed(after: Revision)
    /// The name of the newest journal.
    case newest(String)

    /// The reason why a line cannot be read.
    package enum Failure: Error {
        case check
        /// The check holds, and the content is in no known form.
        case form
        case format(Int64)
    }

    /// Reads the bytes up to a line end, or up to the end of the file. The check does not cover the line end: behind the
    /// last line it may be missing, or be another byte.
    package static func read(_ bytes: Span<UInt8>, isTerminated: Bool) -> Result<JournalLine, Failure> {
        guard let length = length(of: bytes, isTerminated: isTerminated) else { return .failure(.check) }
        guard let json = try? JSONValue(kept: bytes.extracting(0..<length)) else { return .failure(.form) }
        if let line = JournalLine(json) { return .success(line) }
        if let format = json["journal"]?.integer, format > JournalHead.currentFormat {
            return .failure(.format(format))
        }
        return .failure(.form)
    }

    /// Reads any line without its end; nil if its check fails.
    static func content(_ line: Span<UInt8>) -> JSONValue? {
        isSound(line) ? try? JSONValue(kept: line) : nil
    }

    /// True if everything before the line was on disk before it was written.
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

    /// The digits of the check begin behind this.
    private static let opening: StaticString = "{\"crc\":\""
    private static let separator: StaticString = "\","
    private static let checkedFrom = 18

    private static func length(of bytes: Span<UInt8>, isTerminated: Bool) -> Int? {
        if isTerminated { return isSound(bytes) ? bytes.count : nil }
        let written = bytes.countBeforeZeros
        return [written, written - 1].first { $0 > 0 && isSound(bytes.extracting(0..<$0)) }
    }

    /// True if the check of a line without its end holds.
    private static func isSound(_ line: Span<UInt8>) -> Bool {
        let digits = opening.utf8CodeUnitCount..<(opening.utf8CodeUnitCount + 8)
        guard line.count > checkedFrom, line.extracting(0..<digits.lowerBound).consists(of: opening),
            line.extracting(digits.upperBound..<checkedFrom).consists(of: separator)
        else { return false }
        return CRC32C(of: line.extracting(checkedFrom..<line.count)).matches(hexDigits: line.extracting(digits))
    }

    /// Appends a line to `bytes`: its members in braces, behind their check.
    static func write(_ json: borrowing JSONWriter, to bytes: inout [UInt8]) {
        let line = json.bytes
        let checked = line.span.extracting(1..<line.count)
        bytes.append(opening)
        bytes.append(bytesOf: CRC32C(of: checked).hexDigits.span)
        bytes.append(separator)
        bytes.append(bytesOf: checked)
        bytes.append(UInt8(ascii: "\n"))
    }
}

/// A buffer of lines on their way to the journal, which is used again for each batch.
package struct JournalBatch: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// The revision of the last commit in the batch.
    package private(set) var last: Revision?
    private var json = JSONWriter()

    /// The capacity that an emptied batch may keep.
    private static let keptCapacity = 1 << 20

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
            commit.writeForJournal(to: &json)
        }
        last = commit.revision
    }

    mutating func add(_ head: JournalHead) {
        add { json in
            json.name(literal: "journal")
            json.write(integer: JournalHead.currentFormat)
            json.name(literal: "epoch")
            json.write(string: head.epoch.text)
            json.name(literal: "revision")
            json.write(integer: head.revision.number)
            json.name(literal: "after")
            json.write(integer: head.after.number)
            json.name(literal: "durability")
            json.write(string: head.durability.rawValue)
            if let directory = head.directory {
                json.name(literal: "directory")
                json.write(string: directory)
            }
        }
    }

    mutating func add(newest name: String) {
        add { json in
            json.name(literal: "newest")
            json.write(string: name)
        }
    }

    mutating func addClosed(after revision: Revision) {
        add { json in
            json.name(literal: "after")
            json.write(integer: revision.number)
            json.name(literal: "closed")
            json.write(bool: true)
        }
    }

    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
        last = nil
    }

    private mutating func add(_ members: (inout JSONWriter) -> Void) {
        json.removeAll(keepingCapacity: true)
        json.beginObject()
        members(&json)
        json.endObject()
        JournalLine.write(json, to: &bytes)
        if json.bytes.capacity > Self.keptCapacity { json = JSONWriter() }
    }
}

extension JournalHead {
    /// Reads a head; nil if it has no known form.
    fileprivate init?(_ json: JSONValue) {
        guard let format = json["journal"]?.integer, format <= Self.currentFormat,
            let epoch = json["epoch"]?.string.flatMap({ Epoch($0) }),
            let revision = json["revision"]?.integer.flatMap({ Revision($0) }),
            let after = json["after"]?.integer.flatMap({ Revision($0) }), after <= revision,
            let durability = json["durability"]?.string.flatMap({ Durability(rawValue: $0) })
        else { return nil }
        self.init(
            epoch: epoch, revision: revision, after: after, durability: durability,
            directory: json["directory"]?.string)
    }
}

extension JSONValue {
    /// Reads a document that the daemon wrote around values, which nest as deep as can be stored.
    init(kept bytes: Span<UInt8>) throws(JSONParseError) {
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
    /// True if these bytes are this text.
    func consists(of text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { buffer in
            for index in 0..<buffer.count where buffer[index] != self[index] { return false }
            return true
        }
    }

    /// The number of bytes before the zeros at the end.
    var countBeforeZeros: Int {
        var end = count
        while end > 0, self[end - 1] == 0 { end -= 1 }
        return end
    }
}
