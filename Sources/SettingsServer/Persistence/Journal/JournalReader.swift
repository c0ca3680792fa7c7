internal import SettingsModel

/// Reads one journal, and judges what it finds behind the last sound line.
struct JournalReader {
    let directory: DataDirectory
    let name: String
    /// Whether it is the newest one: only there can something have been torn.
    let isNewest: Bool

    /// A sound line and where it stands.
    struct Entry {
        var entry: JournalEntry
        /// How many bytes it takes, with its end.
        var size: Int
        var line: Int
        var offset: Int
    }

    /// How the journal begins; nil if it is empty, or the newest one and torn before its head was complete.
    func head() throws(RecoveryError) -> JournalHead? {
        var reader = LineReader(try open(), chunk: 4096)
        guard let line = try next(&reader) else { return nil }
        let bytes = reader.buffer.span.extracting(line.range)
        guard line.isTerminated, JournalLine.isSound(bytes) else {
            if isNewest, !line.isTerminated || bytes.holdsZero {
                var rest = reader
                if try !followedBySynced(&rest) { return nil }
            }
            throw damage("the check of the line fails", at: line)
        }
        guard let json = try? JSONValue(kept: bytes), let format = json["journal"]?.integer else {
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
            // Room that was made for lines to come.
            if !line.isTerminated && bytes.holdsNothing { return nil }
            guard line.isTerminated, JournalLine.isSound(bytes) else {
                if isNewest, !line.isTerminated || bytes.holdsZero {
                    var rest = reader
                    if try !followedBySynced(&rest) { return TornTail(name: name, offset: line.offset) }
                }
                throw damage(
                    line.isTerminated ? "the check of the line fails" : "the file ends in the middle of a line",
                    at: line)
            }
            guard let json = try? JSONValue(kept: bytes), let entry = JournalEntry(json) else {
                throw damage("the line is sound but not understood; a newer version may have written it", at: line)
            }
            let found = Entry(entry: entry, size: line.range.count + 1, line: line.number, offset: line.offset)
            guard try body(found) else { return nil }
        }
        return nil
    }

    /// Whether a line comes that was written once all before it was on disk. Then what is unsound was not torn by a crash.
    private func followedBySynced(_ reader: inout LineReader) throws(RecoveryError) -> Bool {
        while let line = try next(&reader) {
            let bytes = reader.buffer.span.extracting(line.range)
            guard line.isTerminated, JournalLine.isSound(bytes), let json = try? JSONValue(kept: bytes) else {
                continue
            }
            if JournalEntry(json)?.followsSync ?? true { return true }
        }
        return false
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
