internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Reads one past file: a file with older commits, which the history in memory may have evicted. ``PastFile`` describes
/// the format: fragments, each with successive commits of one suite in the format of a snapshot, then an index. Each
/// method reads only the lines that it needs, and throws if one of these lines is damaged or cannot be read. The reader
/// does not count lines, so all its errors name line 1. The byte offset in an error is correct.
struct PastReader {
    private let file: PastFile
    private let directory: DataDirectory
    private let openFile: OpenFile

    init(_ file: PastFile, in directory: DataDirectory) throws(RecoveryError) {
        (self.file, self.directory) = (file, directory)
        openFile = try Self.open(file.name, in: directory)
    }

    private static func open(_ name: String, in directory: DataDirectory) throws(RecoveryError) -> OpenFile {
        try directory.mapErrors { () throws(FileError) in
            try OpenFile(directory.path(of: name), .reading, in: directory.fileSystem)
        }
    }

    /// Reads the index of a past file.
    static func index(_ name: DataDirectory.PastFileName, in directory: DataDirectory) throws(RecoveryError) -> PastFile
    {
        let openFile = try open(name.name, in: directory)
        let size = try directory.mapErrors { () throws(FileError) in
            try directory.fileSystem.status(directory.path(of: name.name)).size
        }
        // The last line is shorter than 64 bytes. It has the offset of the line with the member `past`.
        let start = max(0, size - 64)
        var end = [UInt8](repeating: 0, count: size - start)
        let count = try directory.mapErrors { () throws(FileError) in try openFile.read(at: start, into: &end) }
        guard count == end.count, end.last == UInt8(ascii: "\n"),
            let last = end.dropLast().lastIndex(of: UInt8(ascii: "\n")),
            let trailer = JournalLine.verifiedJSON(end.span.extracting((last + 1)..<(end.count - 1))),
            let offset = trailer["index"]?.integer
        else { throw directory.damage(name.name, line: 1, offset: start, "the last line is missing or damaged") }
        let json = try line(at: Int(offset), of: openFile, name.name, in: directory)
        if let format = json["past"]?.integer, format > PastFile.currentFormat {
            throw .newerFormat(directory.path(of: name.name), format: format)
        }
        var file = try decode(name.name, Int(offset), in: directory) { () throws(BodyError) in
            try PastFile(name.name, json)
        }
        guard file.from == name.from, file.to == name.to else {
            throw directory.damage(
                name.name, line: 1,
                "the file was written as \(DataDirectory.pastFileName(from: file.from, to: file.to))")
        }
        file.size = size
        return file
    }

    /// Reads one line and verifies its checksum.
    private static func line(
        at offset: Int, of openFile: OpenFile, _ name: String, in directory: DataDirectory
    ) throws(RecoveryError) -> JSONValue {
        let json = try directory.mapErrors { () throws(FileError) -> JSONValue? in
            var lines = LineReader(openFile, from: offset, bufferSize: 16 << 10)
            guard let line = try lines.next(), line.isTerminated else { return nil }
            return JournalLine.verifiedJSON(lines.buffer.span.extracting(line.range))
        }
        guard let json else { throw directory.damage(name, line: 1, offset: offset, "the checksum does not match") }
        return json
    }

    /// Calls a function that decodes JSON, and converts its error.
    private static func decode<Value>(
        _ name: String, _ offset: Int, in directory: DataDirectory, _ read: () throws(BodyError) -> Value
    ) throws(RecoveryError) -> Value {
        do {
            return try read()
        } catch {
            throw directory.damage(name, line: 1, offset: offset, error.description)
        }
    }

    /// Decodes the elements of a member of the line at an offset.
    private func entries<Value>(
        _ member: String, at offset: Int, _ read: (JSONValue) throws(BodyError) -> Value
    ) throws(RecoveryError) -> [Value] {
        let json = try Self.line(at: offset, of: openFile, file.name, in: directory)
        return try Self.decode(file.name, offset, in: directory) { () throws(BodyError) in
            try (json[member] ?? .null).list(of: read)
        }
    }

    /// Reads the index entries of the fragments of a suite, oldest first.
    func fragments(of suite: SuiteName) throws(RecoveryError) -> [PastFile.Fragment] {
        let end = file.suiteLines.partitioningIndex { suite < $0.first }
        // The first fragments of the suite may be at the end of a line whose first fragment is of another suite.
        let start = max(0, file.suiteLines.partitioningIndex { !($0.first < suite) } - 1)
        var fragments: [PastFile.Fragment] = []
        for line in file.suiteLines[min(start, end)..<end] {
            fragments += try self.fragments(at: line.offset).filter { $0.suite == suite }
        }
        return fragments
    }

    /// Visits the index entries of the fragments ordered by the names of the suites, until the body returns false.
    /// Begins at or before the last fragment of the first suite whose name is not before `start`: the body may also get
    /// fragments of earlier suites, and possibly misses some fragments of this suite.
    func forEachFragment(
        startingAt start: String, _ body: (PastFile.Fragment) -> Bool
    ) throws(RecoveryError) {
        let next = file.suiteLines.partitioningIndex { start.precedesInBytes($0.first.text) }
        for line in file.suiteLines[max(0, next - 1)...] {
            for fragment in try fragments(at: line.offset) where !body(fragment) { return }
        }
    }

    private func fragments(at offset: Int) throws(RecoveryError) -> [PastFile.Fragment] {
        try entries("suites", at: offset) { json throws(BodyError) in try PastFile.Fragment(json) }
    }

    private func commits(at offset: Int) throws(RecoveryError) -> [PastFile.CommitEntry] {
        try entries("commits", at: offset) { json throws(BodyError) in try PastFile.CommitEntry(json) }
    }

    /// Reads the commits of a fragment, and its base: the state of the suite after these commits. For an earlier state,
    /// the calling code undoes commits. The base is nil if the fragment has none, or if the suite did not exist then.
    func read(_ fragment: PastFile.Fragment) throws(RecoveryError) -> (commits: [RetainedCommit], base: Suite?) {
        let state = try SnapshotReader.read(at: fragment.offset, of: openFile, named: file.name, in: directory)
        guard state.revision == fragment.last else {
            throw directory.damage(
                file.name, line: 1, offset: fragment.offset,
                "the commits end at revision \(state.revision), but the index of the file says \(fragment.last)")
        }
        return (state.history.all, state.suite(fragment.suite))
    }

    /// Reads the index entry of a commit; nil if the file has no commit with this revision.
    func entry(of revision: Revision) throws(RecoveryError) -> PastFile.CommitEntry? {
        let line = file.commitLines.partitioningIndex { revision < $0.first }
        guard line > 0 else { return nil }
        return try commits(at: file.commitLines[line - 1].offset).first { $0.revision == revision }
    }

    /// Finds the last commit, in the order of revisions, whose time is not later than an instant; nil if there is none.
    func last(notAfter instant: Timestamp) throws(RecoveryError) -> Revision? {
        guard let line = file.commitLines.last(where: { $0.earliest <= instant }) else { return nil }
        return try commits(at: line.offset).last { $0.time <= instant }?.revision
    }

    /// Reads the whole file, and returns the number of its commits. Throws if the file is damaged.
    func verify() throws(RecoveryError) -> Int {
        for line in file.suiteLines {
            for fragment in try fragments(at: line.offset) { _ = try read(fragment) }
        }
        var count = 0
        for line in file.commitLines { count += try commits(at: line.offset).count }
        return count
    }
}

extension Array {
    /// Returns the index of the first element that satisfies a condition; `count` if there is none. All elements after
    /// the first such element must satisfy the condition too.
    fileprivate func partitioningIndex(_ condition: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
