internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// A reader of one journal that checks each line and what it follows, and judges what is behind the last sound one.
struct JournalReader {
    /// A commit in the journal, not decoded yet.
    struct Entry {
        let json: JSONValue
        let revision: Revision
        /// The commit before.
        let after: Revision
        /// The bytes of the line.
        let size: Int
    }

    /// The reason why the caller does not accept a commit.
    struct Refusal: Error {
        let reason: String
    }

    /// The result of reading the lines behind the head.
    struct Contents {
        /// The last commit that was read, or the one that the first line has to follow.
        var last: Revision?
        var commits = 0
        /// True if the daemon stopped cleanly.
        var isClosed = false
        var torn: TornTail?
        /// The damage that ended the reading.
        var damage: RecoveryError?
    }

    let directory: DataDirectory
    let name: String
    /// True for the newest journal: no other can be torn.
    var isNewest = false

    /// Reads the head. A crash cannot tear that: a journal has its name only once its head is on disk.
    func head() throws(RecoveryError) -> JournalHead {
        var lines = LineReader(try open(), bufferSize: 4096)
        guard let line = try next(&lines) else { throw directory.damage(name, line: 1, "it is empty") }
        switch read(line, in: lines) {
        case .success(.head(let head)):
            let written = DataDirectory.journalName(after: head.revision)
            guard written == name else { throw damage("it was written as \(written)", at: line) }
            return head
        case .failure(.check): throw damage("the check of the line fails", at: line)
        case .failure(.format(let format)): throw .fromTheFuture(directory.path(of: name), format: format)
        default: throw damage("it does not begin as a journal does", at: line)
        }
    }

    /// Reads the lines behind the head, up to one that is damaged or torn. Throws if the file cannot be read.
    ///
    /// - Parameters:
    ///   - start: the commit that the first line has to follow; nil for any.
    ///   - end: the last commit to read. Others behind it were never published.
    func read(
        after start: Revision?, upTo end: Revision?, _ body: (Entry) throws(Refusal) -> Void
    ) throws(RecoveryError) -> Contents {
        var contents = Contents(last: start)
        do throws(RecoveryError) {
            var lines = LineReader(try open())
            _ = try next(&lines)
            while let line = try next(&lines), !isRoom(line, in: lines) {
                let found = read(line, in: lines)
                if case .failure(.check) = found, isNewest, try isTorn(from: line, lines) {
                    contents.torn = TornTail(name: name, offset: line.offset)
                    contents.isClosed = false
                    break
                }
                do throws(Refusal) {
                    try add(found, size: line.range.count + 1, to: &contents, upTo: end, body)
                } catch {
                    throw damage(error.reason, at: line)
                }
                if let end, let last = contents.last, last >= end, contents.commits > 0 { break }
            }
        } catch {
            guard error.kind == .damaged else { throw error }
            contents.damage = error
        }
        return contents
    }

    /// Takes a line, if it follows what came before.
    private func add(
        _ line: Result<JournalLine, JournalLine.Failure>, size: Int, to contents: inout Contents, upTo end: Revision?,
        _ body: (Entry) throws(Refusal) -> Void
    ) throws(Refusal) {
        contents.isClosed = false
        func follow(_ after: Revision) throws(Refusal) {
            guard let last = contents.last, after != last else { return }
            throw Refusal(reason: "the line follows revision \(after), not \(last)")
        }
        switch line {
        case .success(.commit(let json, let revision, let after, _)):
            try follow(after)
            guard revision > after, end.map({ revision <= $0 }) ?? true else {
                throw Refusal(reason: "commit \(revision) has no place after \(after)")
            }
            try body(Entry(json: json, revision: revision, after: after, size: size))
            contents.last = revision
            contents.commits += 1
        case .success(.closed(let after)):
            try follow(after)
            contents.last = after
            contents.isClosed = true
        case .failure(.check): throw Refusal(reason: "the check of the line fails")
        default: throw Refusal(reason: "the line is sound but not understood; a newer version may have written it")
        }
    }

    private func read(
        _ line: LineReader.Line, in lines: LineReader
    ) -> Result<JournalLine, JournalLine.Failure> {
        JournalLine.read(lines.buffer.span.extracting(line.range), isTerminated: line.isTerminated)
    }

    /// True if nothing is left but room for lines to come.
    private func isRoom(_ line: LineReader.Line, in lines: LineReader) -> Bool {
        !line.isTerminated && lines.buffer.span.extracting(line.range).countBeforeZeros == 0
    }

    /// The size of what a disk writes as a whole or not at all, in bytes.
    private static let sector = 512

    /// True if a crash can have left a line that is not sound, and what comes behind it. Either the file ends in the
    /// middle of the line, or sectors are zeros, as they were before the batch was written. A line behind it that
    /// follows a sync rules a crash out.
    private func isTorn(from first: LineReader.Line, _ lines: LineReader) throws(RecoveryError) -> Bool {
        var lines = lines
        var line = first
        var hasZeros = false
        while true {
            if line.offset > first.offset {
                switch read(line, in: lines) {
                case .success(let sound) where !sound.followsSync: break
                case .failure(.check): break
                default: return false
                }
            }
            guard let zeros = zeros(line, in: lines) else { return false }
            hasZeros = hasZeros || zeros > 0
            guard let next = try next(&lines) else { return hasZeros || !first.isTerminated }
            line = next
        }
    }

    /// Counts the sectors of zeros in a line, before its end; the first may have been zeros from the beginning of the line
    /// on. Returns nil if there are other zeros.
    private func zeros(_ line: LineReader.Line, in lines: LineReader) -> Int? {
        let bytes = lines.buffer.span.extracting(line.range)
        let end = line.isTerminated ? bytes.count : bytes.countBeforeZeros
        var found = 0
        var index = 0
        while index < end {
            let start = index
            while index < end, bytes[index] == 0 { index += 1 }
            if index > start {
                guard start == 0 || (line.offset + start) % Self.sector == 0, (line.offset + index) % Self.sector == 0
                else { return nil }
                found += 1
            }
            index += 1
        }
        return found
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

    private func next(_ lines: inout LineReader) throws(RecoveryError) -> LineReader.Line? {
        do {
            return try lines.next()
        } catch {
            throw RecoveryError(error)
        }
    }
}

/// A tail of the newest journal that a crash left: lines that were being written, and never acknowledged.
package struct TornTail: Hashable, Sendable {
    /// The journal.
    package var name: String
    /// The place where the tail begins.
    package var offset: Int
}
