internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// Reads one journal: a file with one line of JSON for each commit. Each line contains the revision of the previous
/// commit, the predecessor.
///
/// The reader verifies the checksum and the predecessor of each line. If a line is invalid, the reader determines
/// whether a crash during the last write explains the line (a torn tail), or whether the file was damaged later.
struct JournalReader {
    /// A line with a commit that is not decoded yet.
    struct Entry {
        let json: JSONValue
        let revision: Revision
        /// The revision of the previous commit.
        let predecessor: Revision
        /// The bytes of the line, including the line feed.
        let size: Int
    }

    /// The error with which the body of ``read(after:upTo:_:)`` rejects a commit, for example because it cannot be
    /// decoded.
    struct Rejection: Error {
        let reason: String
    }

    /// The result of reading the lines after the head, which is the first line.
    struct Contents {
        /// The last commit that was read, or that the line of a clean stop names; if the reader read neither, the
        /// parameter `start` of ``read(after:upTo:_:)``.
        var lastRevision: Revision?
        var commitCount = 0
        /// True if the last line says that the daemon stopped cleanly.
        var endsWithCleanStop = false
        /// The incomplete lines that a crash left; nil if there are none.
        var tornTail: TornTail?
        /// The damage at which the reader stopped; nil if there is none.
        var damage: RecoveryError?
    }

    let directory: DataDirectory
    let name: String
    /// True for the newest journal. Only the newest journal can have a torn tail, because the daemon removes the torn
    /// tail before it begins the next journal. ``Scrub`` also sets true for a journal whose next journal cannot be
    /// read, because the reader may then reach the incomplete line of a failed write.
    var isNewest = false

    /// Reads the head, which a crash cannot damage: a journal gets its name after its head is on disk.
    func head() throws(RecoveryError) -> JournalHead {
        var lines = LineReader(try open(), bufferSize: 4096)
        guard let line = try next(&lines) else { throw directory.damage(name, line: 1, "the file is empty") }
        switch read(line, in: lines) {
        case .success(.head(let head)):
            let originalName = DataDirectory.journalName(after: head.revision)
            guard originalName == name else { throw damage("the file was renamed from \(originalName)", at: line) }
            return head
        case .failure(.checksum): throw damage("the checksum of the line does not match", at: line)
        case .failure(.newerFormat(let format)): throw .newerFormat(directory.path(of: name), format: format)
        default: throw damage("the line is not the head of a journal", at: line)
        }
    }

    /// Reads the lines after the head, up to damage or the torn tail. Throws if the file cannot be read.
    ///
    /// - Parameters:
    ///   - start: the commit that the first line must follow; nil for any commit.
    ///   - end: the commit that the next journal continues, which is the last commit to read; nil for no limit. Commits
    ///     after `end` are also in the next journal, or their flush failed, so no client saw them.
    ///   - body: called with each commit.
    func read(
        after start: Revision?, upTo end: Revision?, _ body: (Entry) throws(Rejection) -> Void
    ) throws(RecoveryError) -> Contents {
        var contents = Contents(lastRevision: start)
        do throws(RecoveryError) {
            var lines = LineReader(try open())
            _ = try next(&lines)
            while let line = try next(&lines), !isPadding(line, in: lines) {
                let result = read(line, in: lines)
                if case .failure(.checksum) = result, isNewest, try isTorn(from: line, lines) {
                    contents.tornTail = TornTail(journal: name, offset: line.offset)
                    contents.endsWithCleanStop = false
                    break
                }
                do throws(Rejection) {
                    try add(result, size: line.range.count + 1, to: &contents, upTo: end, body)
                } catch {
                    throw damage(error.reason, at: line)
                }
                // `start` may be after `end` in a journal without commits (durability `snapshot`), which is read to its
                // end.
                if let end, let last = contents.lastRevision, last >= end, contents.commitCount > 0 { break }
            }
        } catch {
            guard error.kind == .damaged else { throw error }
            contents.damage = error
        }
        return contents
    }

    /// Adds a line to the contents. Throws if the line is invalid or does not follow the line before it.
    private func add(
        _ line: Result<JournalLine, JournalLine.Failure>, size: Int, to contents: inout Contents, upTo end: Revision?,
        _ body: (Entry) throws(Rejection) -> Void
    ) throws(Rejection) {
        contents.endsWithCleanStop = false
        func checkPredecessor(_ after: Revision) throws(Rejection) {
            guard let last = contents.lastRevision, after != last else { return }
            throw Rejection(reason: "the line follows revision \(after), not \(last)")
        }
        switch line {
        case .success(.commit(let json, let revision, let after, _)):
            try checkPredecessor(after)
            guard revision > after else { throw Rejection(reason: "revision \(revision) is not after \(after)") }
            if let end, revision > end { throw Rejection(reason: "commit \(end) is missing before \(revision)") }
            try body(Entry(json: json, revision: revision, predecessor: after, size: size))
            contents.lastRevision = revision
            contents.commitCount += 1
        case .success(.closed(let after)):
            try checkPredecessor(after)
            contents.lastRevision = after
            contents.endsWithCleanStop = true
        case .failure(.checksum): throw Rejection(reason: "the checksum of the line does not match")
        default: throw Rejection(reason: "the line is of an unknown kind; a newer version may have written it")
        }
    }

    private func read(_ line: LineReader.Line, in lines: LineReader) -> Result<JournalLine, JournalLine.Failure> {
        JournalLine.read(lines.buffer.span.extracting(line.range), isTerminated: line.isTerminated)
    }

    /// True if the line consists of the preallocated zeros at the end of the file.
    private func isPadding(_ line: LineReader.Line, in lines: LineReader) -> Bool {
        !line.isTerminated && lines.buffer.span.extracting(line.range).countWithoutTrailingZeros == 0
    }

    /// The unit in bytes that a disk writes atomically.
    private static let sectorBytes = 512

    /// True if a crash during the last write can explain an invalid line and the lines after it: the file ends in the
    /// middle of the line, or some sectors were not written and still are zeros. A crash does not explain the invalid
    /// line if a later line was written after a sync (`followsSync`), because that sync put the invalid line on disk.
    /// A later line with a correct checksum that this version does not know counts as written after a sync.
    private func isTorn(from first: LineReader.Line, _ lines: LineReader) throws(RecoveryError) -> Bool {
        var lines = lines
        var line = first
        var hasZeros = false
        while true {
            if line.offset > first.offset {
                switch read(line, in: lines) {
                case .success(let valid) where !valid.followsSync: break
                case .failure(.checksum): break
                default: return false
                }
            }
            guard let zeroRuns = countZeroRuns(line, in: lines) else { return false }
            hasZeros = hasZeros || zeroRuns > 0
            guard let next = try next(&lines) else { return hasZeros || !first.isTerminated }
            line = next
        }
    }

    /// Counts the runs of zeros that unwritten sectors left in a line: a run begins at a sector boundary or with the
    /// line, and ends at a sector boundary. Nil if the line has other zeros. Ignores preallocated zeros after the line.
    private func countZeroRuns(_ line: LineReader.Line, in lines: LineReader) -> Int? {
        let bytes = lines.buffer.span.extracting(line.range)
        let end = line.isTerminated ? bytes.count : bytes.countWithoutTrailingZeros
        var count = 0
        var index = 0
        while index < end {
            let start = index
            while index < end, bytes[index] == 0 { index += 1 }
            if index > start {
                guard start == 0 || (line.offset + start) % Self.sectorBytes == 0,
                    (line.offset + index) % Self.sectorBytes == 0
                else { return nil }
                count += 1
            }
            index += 1
        }
        return count
    }

    private func damage(_ reason: String, at line: LineReader.Line) -> RecoveryError {
        directory.damage(name, line: line.number, offset: line.offset, reason)
    }

    private func open() throws(RecoveryError) -> OpenFile {
        try directory.mapErrors { () throws(FileError) in
            try OpenFile(directory.path(of: name), .reading, in: directory.fileSystem)
        }
    }

    private func next(_ lines: inout LineReader) throws(RecoveryError) -> LineReader.Line? {
        do {
            return try lines.next()
        } catch {
            throw RecoveryError(error)
        }
    }
}

/// Incomplete lines at the end of the newest journal after a crash. With durability `always`, their writes were not
/// acknowledged.
package struct TornTail: Hashable, Sendable {
    /// The name of the journal.
    package var journal: String
    /// The offset at which the incomplete lines begin.
    package var offset: Int
}
