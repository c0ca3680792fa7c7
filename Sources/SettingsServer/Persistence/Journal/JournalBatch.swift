internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// Lines on their way to the journal, in one buffer that is used again and again.
struct JournalBatch: Sendable {
    /// The lines.
    private(set) var bytes: [UInt8] = []
    /// The revision of the last commit among them.
    private(set) var last: Revision?
    private var json = JSONWriter()

    /// What a batch may keep of its room when it is emptied.
    private static let keptCapacity = 1 << 20

    var isEmpty: Bool { bytes.isEmpty }

    /// Adds a commit.
    mutating func add(_ commit: Commit, after predecessor: Revision, followsSync: Bool) {
        begin(after: predecessor)
        if followsSync {
            json.name("synced")
            json.write(bool: true)
        }
        json.name("commit")
        commit.write(to: &json)
        end()
        last = commit.revision
    }

    mutating func add(_ head: JournalHead) {
        json.removeAll(keepingCapacity: true)
        json.beginObject()
        head.writeMembers(to: &json)
        end()
    }

    /// Adds what ``NewestJournal`` keeps.
    mutating func add(newest revision: Revision) {
        json.removeAll(keepingCapacity: true)
        json.beginObject()
        json.name("newest")
        json.write(string: DataDirectory.journalName(after: revision))
        end()
    }

    /// Adds the mark of a stop in order.
    mutating func addClosed(after revision: Revision) {
        begin(after: revision)
        json.name("closed")
        json.write(bool: true)
        end()
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
        last = nil
    }

    private mutating func begin(after predecessor: Revision) {
        json.removeAll(keepingCapacity: true)
        json.beginObject()
        json.name("after")
        json.write(integer: predecessor.number)
    }

    /// Puts the check before what was written, and a line end after it.
    private mutating func end() {
        json.endObject()
        let line = json.bytes
        let checked = line.span.extracting(1..<line.count)
        bytes.append(JournalLine.opening)
        let digits = CRC32C(of: checked).digits
        for index in digits.indices { bytes.append(digits[index]) }
        bytes.append(JournalLine.separator)
        bytes.append(bytesOf: checked)
        bytes.append(UInt8(ascii: "\n"))
        if line.capacity > Self.keptCapacity { json = JSONWriter() }
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
