internal import Platform
internal import SettingsModel

/// Reads one journal, and judges what it finds behind the last sound line.
struct JournalReader {
    let directory: DataDirectory
    let name: String
    /// Whether it is the newest one: only there can something have been torn.
    var isNewest = false

    /// A sound line and where it stands.
    struct Entry {
        var entry: JournalEntry
        /// How many bytes it takes, with its end.
        var size: Int
        var line: Int
        var offset: Int
    }

    /// How the journal begins. No crash can tear that: a journal has its name only once its head is on disk.
    func head() throws(RecoveryError) -> JournalHead {
        var reader = LineReader(try open(), chunk: 4096)
        guard let line = try next(&reader) else { throw directory.damage(name, line: 1, "it is empty") }
        let bytes = reader.buffer.span.extracting(line.range)
        guard let length = JournalLine.length(of: bytes, isTerminated: line.isTerminated) else {
            throw damage("the check of the line fails", at: line)
        }
        guard let json = try? JSONValue(kept: bytes.extracting(0..<length)), let format = json["journal"]?.integer
        else {
            throw damage("it does not begin as a journal does", at: line)
        }
        guard format <= JournalHead.currentFormat else {
            throw .fromTheFuture(directory.path(of: name), format: format)
        }
        guard let head = JournalHead(json) else { throw damage("the head is not understood", at: line) }
        guard DataDirectory.journalName(after: head.revision) == name else {
            throw damage("it was written as \(DataDirectory.journalName(after: head.revision))", at: line)
        }
        return head
    }

    /// Goes through the lines behind the head until the closure returns false.
    ///
    /// - Returns: where the tail begins that was torn, if one was: what was being written when the power went, which never
    ///   was acknowledged.
    func read(_ body: (Entry) throws(RecoveryError) -> Bool) throws(RecoveryError) -> TornTail? {
        var reader = LineReader(try open())
        _ = try next(&reader)
        while let line = try next(&reader) {
            let bytes = reader.buffer.span.extracting(line.range)
            if !line.isTerminated && bytes.countBeforeZeros == 0 { return nil }
            guard let length = JournalLine.length(of: bytes, isTerminated: line.isTerminated) else {
                if isNewest, try isTorn(from: line, reader) { return TornTail(name: name, offset: line.offset) }
                throw damage("the check of the line fails", at: line)
            }
            guard let json = try? JSONValue(kept: bytes.extracting(0..<length)), let entry = JournalEntry(json) else {
                throw damage("the line is sound but not understood; a newer version may have written it", at: line)
            }
            let found = Entry(entry: entry, size: line.range.count + 1, line: line.number, offset: line.offset)
            guard try body(found) else { return nil }
        }
        return nil
    }

    /// The size of what a disk writes as a whole or not at all, in bytes.
    private static let sector = 512

    /// True if a crash can have left a line that is not sound, and what comes behind it. Either the file ends in the
    /// middle of the line, or sectors are zeros, as they were before the batch was written. A line behind it that
    /// follows a sync rules a crash out.
    private func isTorn(from first: LineReader.Line, _ reader: LineReader) throws(RecoveryError) -> Bool {
        var reader = reader
        var line = first
        var hasZeros = false
        while true {
            if line.offset > first.offset, followsSync(line, in: reader) { return false }
            switch zeros(line, in: reader) {
            case .none: break
            case .sectors: hasZeros = true
            case .others: return false
            }
            guard let next = try self.next(&reader) else { return hasZeros || !first.isTerminated }
            line = next
        }
    }

    private func followsSync(_ line: LineReader.Line, in reader: LineReader) -> Bool {
        let bytes = reader.buffer.span.extracting(line.range)
        guard let length = JournalLine.length(of: bytes, isTerminated: line.isTerminated),
            let json = try? JSONValue(kept: bytes.extracting(0..<length))
        else { return false }
        return JournalEntry(json)?.followsSync ?? true
    }

    /// The zeros in a line, before its end.
    private enum Zeros {
        case none
        /// Whole sectors that were not written, the first perhaps from the beginning of the line on.
        case sectors
        case others
    }

    private func zeros(_ line: LineReader.Line, in reader: LineReader) -> Zeros {
        let bytes = reader.buffer.span.extracting(line.range)
        let end = line.isTerminated ? bytes.count : bytes.countBeforeZeros
        var found = Zeros.none
        var index = 0
        while index < end {
            let start = index
            while index < end, bytes[index] == 0 { index += 1 }
            if index > start {
                guard start == 0 || (line.offset + start) % Self.sector == 0, (line.offset + index) % Self.sector == 0
                else { return .others }
                found = .sectors
            }
            index += 1
        }
        return found
    }

    /// That a line is not as it was written, or does not fit in.
    func damage(_ reason: String, at entry: Entry) -> RecoveryError {
        directory.damage(name, line: entry.line, offset: entry.offset, reason)
    }

    private func damage(_ reason: String, at line: LineReader.Line) -> RecoveryError {
        directory.damage(name, line: line.number, offset: line.offset, reason)
    }

    private func open() throws(RecoveryError) -> OpenFile {
        do {
            return try OpenFile(directory.path(of: name), .reading, in: directory.fileSystem)
        } catch {
            throw RecoveryError(error)
        }
    }

    private func next(_ reader: inout LineReader) throws(RecoveryError) -> LineReader.Line? {
        do {
            return try reader.next()
        } catch {
            throw RecoveryError(error)
        }
    }
}

/// What a crash left at the end of the newest journal.
package struct TornTail: Hashable, Sendable {
    /// The journal.
    package var name: String
    /// Where the tail begins.
    package var offset: Int
}
