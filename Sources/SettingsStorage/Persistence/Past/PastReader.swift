internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A reader of one past file that reads only what is asked for. Throws if that is damaged, or cannot be read.
struct PastReader {
    private let file: PastFile
    private let directory: DataDirectory
    private let open: OpenFile

    init(_ file: PastFile, in directory: DataDirectory) throws(RecoveryError) {
        self.file = file
        self.directory = directory
        open = try Self.open(file.name, in: directory)
    }

    private static func open(_ name: String, in directory: DataDirectory) throws(RecoveryError) -> OpenFile {
        try directory.reading { () throws(FileError) in
            try OpenFile(directory.path(of: name), .reading, in: directory.fileSystem)
        }
    }

    /// Reads the index of a file.
    static func index(_ name: DataDirectory.PastName, in directory: DataDirectory) throws(RecoveryError) -> PastFile {
        let open = try open(name.name, in: directory)
        let size = try directory.reading { () throws(FileError) in
            try directory.fileSystem.status(directory.path(of: name.name)).size
        }
        // The last line is shorter than that.
        let start = max(0, size - 64)
        var end = [UInt8](repeating: 0, count: size - start)
        let count = try directory.reading { () throws(FileError) in try open.read(at: start, into: &end) }
        guard count == end.count, end.last == UInt8(ascii: "\n"),
            let last = end.dropLast().lastIndex(of: UInt8(ascii: "\n")),
            let trailer = JournalLine.content(end.span.extracting((last + 1)..<(end.count - 1))),
            let offset = trailer["index"]?.integer
        else { throw directory.damage(name.name, line: 1, offset: start, "it ends too early") }
        let json = try line(at: Int(offset), of: open, name.name, in: directory)
        if let format = json["past"]?.integer, format > PastFile.currentFormat {
            throw .fromTheFuture(directory.path(of: name.name), format: format)
        }
        var file = try form(name.name, Int(offset), in: directory) { () throws(BodyError) in
            try PastFile(name.name, json)
        }
        guard file.from == name.from, file.to == name.to else {
            throw directory.damage(
                name.name, line: 1, "it was written as \(DataDirectory.pastName(file.from, file.to))")
        }
        file.size = size
        return file
    }

    private static func line(
        at offset: Int, of open: OpenFile, _ name: String, in directory: DataDirectory
    ) throws(RecoveryError) -> JSONValue {
        let json = try directory.reading { () throws(FileError) -> JSONValue? in
            var lines = LineReader(open, from: offset, bufferSize: 16 << 10)
            guard let line = try lines.next(), line.isTerminated else { return nil }
            return JournalLine.content(lines.buffer.span.extracting(line.range))
        }
        guard let json else { throw directory.damage(name, line: 1, offset: offset, "the check of a line fails") }
        return json
    }

    private static func form<Value>(
        _ name: String, _ offset: Int, in directory: DataDirectory, _ read: () throws(BodyError) -> Value
    ) throws(RecoveryError) -> Value {
        do {
            return try read()
        } catch {
            throw directory.damage(name, line: 1, offset: offset, error.description)
        }
    }

    private func entries<Value>(
        _ member: String, at offset: Int, _ read: (JSONValue) throws(BodyError) -> Value
    ) throws(RecoveryError) -> [Value] {
        let json = try Self.line(at: offset, of: open, file.name, in: directory)
        return try Self.form(file.name, offset, in: directory) { () throws(BodyError) in
            try (json[member] ?? .null).list(of: read)
        }
    }

    /// The fragments of a suite, oldest first.
    func fragments(of suite: SuiteName) throws(RecoveryError) -> [PastFile.Fragment] {
        let end = file.suites.partitioningIndex { suite < $0.first }
        // A suite may go on from one line to the next.
        let start = max(0, file.suites.partitioningIndex { !($0.first < suite) } - 1)
        var found: [PastFile.Fragment] = []
        for line in file.suites[min(start, end)..<end] {
            found += try fragments(at: line.offset).filter { $0.suite == suite }
        }
        return found
    }

    private func fragments(at offset: Int) throws(RecoveryError) -> [PastFile.Fragment] {
        try entries("suites", at: offset) { json throws(BodyError) in try PastFile.Fragment(json) }
    }

    private func commits(at offset: Int) throws(RecoveryError) -> [PastFile.Entry] {
        try entries("commits", at: offset) { json throws(BodyError) in try PastFile.Entry(json) }
    }

    /// Reads the commits of a fragment, and the suite as it stood after them; nil without a base, or if it was dropped.
    func read(_ fragment: PastFile.Fragment) throws(RecoveryError) -> (commits: [KeptCommit], suite: Suite?) {
        let state = try SnapshotReader.read(at: fragment.offset, of: open, named: file.name, in: directory)
        guard state.revision == fragment.last else {
            throw directory.damage(file.name, line: 1, offset: fragment.offset, "it is not what the index says")
        }
        return (state.history.all, state.suite(fragment.suite))
    }

    /// Finds a commit in the index; nil if the file has none of this revision.
    func find(_ revision: Revision) throws(RecoveryError) -> PastFile.Entry? {
        let line = file.commits.partitioningIndex { revision < $0.first }
        guard line > 0 else { return nil }
        return try commits(at: file.commits[line - 1].offset).first { $0.revision == revision }
    }

    /// Finds the last commit that was not later than an instant; nil if all were.
    func last(notAfter instant: Timestamp) throws(RecoveryError) -> Revision? {
        guard let line = file.commits.last(where: { $0.earliest <= instant }) else { return nil }
        return try commits(at: line.offset).last { $0.time <= instant }?.revision
    }

    /// Reads all of the file. Returns the number of its commits.
    func check() throws(RecoveryError) -> Int {
        for line in file.suites {
            for fragment in try fragments(at: line.offset) { _ = try read(fragment) }
        }
        var count = 0
        for line in file.commits { count += try commits(at: line.offset).count }
        return count
    }
}

extension Array {
    /// The index of the first element that satisfies a condition which all after it satisfy, too; else the end.
    fileprivate func partitioningIndex(_ isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
