internal import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// A reader of a snapshot. It reads line by line, so that it needs memory for the state and one line, not for the whole
/// file.
package struct SnapshotReader {
    private let directory: DataDirectory
    private let name: String
    /// True if the file must end after the document.
    private let isAlone: Bool
    private var lines: LineReader
    private var line = LineReader.Line()
    /// The origins of the records that were read, so that records with equal origins share one object.
    private var origins: Set<CommitOrigin> = []
    /// The checksum of all lines before the current line.
    private var check = CRC32C()

    /// Reads a snapshot. Throws if its revision is not the revision in its name.
    static func read(
        _ snapshot: DataDirectory.Numbered, in directory: DataDirectory, limits: History.Limits
    ) throws(RecoveryError) -> Snapshot {
        let found = try read(named: snapshot.name, in: directory, limits: limits)
        guard found.state.revision == snapshot.revision else {
            throw directory.damage(snapshot.name, line: 1, "it is of revision \(found.state.revision)")
        }
        return found
    }

    /// Reads a snapshot without comparing its revision with its name.
    package static func read(
        named name: String, in directory: DataDirectory, limits: History.Limits
    ) throws(RecoveryError) -> Snapshot {
        var reader = try SnapshotReader(name, directory)
        return try reader.snapshot(limits)
    }

    /// Verifies the revision and the checksum of a snapshot without building the state. Needs memory for one line only.
    static func check(_ snapshot: DataDirectory.Numbered, in directory: DataDirectory) throws(RecoveryError) {
        var reader = try SnapshotReader(snapshot.name, directory)
        try reader.advance()
        let revision = try reader.revision("revision", of: try reader.openJSON())
        guard revision == snapshot.revision else { throw reader.damage("it is of revision \(revision)") }
        while !reader.isAtCheck { try reader.advance() }
        try reader.checkEnd()
    }

    /// True if the current line is the last line, which has the checksum.
    private var isAtCheck: Bool {
        let prefix = SnapshotFormat.check.utf8CodeUnitCount
        let start = line.range.lowerBound
        return line.range.count > prefix
            && lines.buffer.span.extracting(start..<(start + prefix)).consists(of: SnapshotFormat.check)
    }

    /// Reads a snapshot from a file that has other content, too. The history of the state has no limits.
    static func read(
        at offset: Int, of file: OpenFile, named name: String, in directory: DataDirectory
    ) throws(RecoveryError) -> State {
        var reader = SnapshotReader(
            LineReader(file, from: offset, bufferSize: 64 << 10), name, directory, isAlone: false)
        return try reader.snapshot(.unbounded).state
    }

    private init(_ name: String, _ directory: DataDirectory) throws(RecoveryError) {
        let file = try directory.reading { () throws(FileError) in
            try OpenFile(directory.path(of: name), .reading, in: directory.fileSystem)
        }
        self.init(LineReader(file), name, directory, isAlone: true)
    }

    private init(_ lines: LineReader, _ name: String, _ directory: DataDirectory, isAlone: Bool) {
        (self.lines, self.name, self.directory, self.isAlone) = (lines, name, directory, isAlone)
    }

    private mutating func snapshot(_ limits: History.Limits) throws(RecoveryError) -> Snapshot {
        try advance()
        let head = try openJSON()
        guard let format = head["snapshot"]?.integer else { throw damage("it does not begin as a snapshot") }
        guard format <= SnapshotFormat.current else {
            throw .fromTheFuture(directory.path(of: name), format: format)
        }
        guard let epoch = head["epoch"]?.string.flatMap({ Epoch($0) }) else { throw damage("the epoch is none") }
        let (revision, lastDrop) = (try self.revision("revision", of: head), try self.revision("lastDrop", of: head))
        // Three names in the file differ from the names in the code: `historyFloor` is the oldest available revision of
        // the history, `historyBase` the oldest available revision of suites without a log, and `passed` is
        // `evictedThrough`.
        let oldest = try self.revision("historyFloor", of: head)
        let oldestWithoutLog = try self.revision("historyBase", of: head)
        let (evictedThrough, journal) = (try self.revision("passed", of: head), try self.revision("journal", of: head))
        let time = try form { () throws(BodyError) in try Timestamp(json: head["time"] ?? .null) }

        try expect(SnapshotFormat.suites)
        var suites = OrderedTree<Suite>()
        while try !atLine(SnapshotFormat.logs) {
            guard suites.restore(try suite()) else { throw damage("the suites are not in order") }
        }
        var logs = OrderedTree<SuiteLog>()
        while try !atLine(SnapshotFormat.history) {
            let json = try parse(element)
            let log = try form { () throws(BodyError) in try SuiteLog(json) }
            guard logs.restore(log) else { throw damage("the logs are not in order") }
        }
        let oldestTime = head["historyTime"]?.integer.map { Timestamp(milliseconds: $0) }
        var history = History(
            oldestAvailable: oldest, at: oldestTime, oldestAvailableWithoutLog: oldestWithoutLog, logs: logs)
        var newest = Revision.zero
        while try !atLine(SnapshotFormat.historyEnd) {
            // The size of a commit is computed again, because this build may need more or less memory for it than the
            // writer did.
            guard let fields = try parse(element).array, fields.count == 2, fields[0].integer != nil else {
                throw damage("a commit that is kept has its size before it")
            }
            let commit = try form { () throws(BodyError) in try Commit(json: fields[1]) }
            guard commit.revision > newest else { throw damage("the commits are not in order") }
            newest = commit.revision
            history.append(KeptCommit(commit), limits: limits)
        }
        history.finishRestoring(evictedThrough: evictedThrough, limits: limits)
        try advance()
        try checkEnd()
        return Snapshot(
            state: State(
                epoch: epoch, revision: revision, time: time, suites: suites, lastDrop: lastDrop, history: history,
                limits: limits),
            journal: journal)
    }

    private mutating func checkEnd() throws(RecoveryError) {
        let prefix = SnapshotFormat.check.utf8CodeUnitCount
        let last = Array(lines.buffer[line.range])
        let bytes = last.span
        guard bytes.count == prefix + 8 + SnapshotFormat.end.utf8CodeUnitCount,
            bytes.extracting(0..<prefix).consists(of: SnapshotFormat.check),
            bytes.extracting((prefix + 8)..<bytes.count).consists(of: SnapshotFormat.end)
        else { throw damage("the check is missing") }
        guard check.matches(hexDigits: bytes.extracting(prefix..<(prefix + 8))) else { throw damage("the check fails") }
        if isAlone, try nextLine() != nil { throw damage("something comes behind its end") }
    }

    private mutating func suite() throws(RecoveryError) -> Suite {
        let head = try openJSON()
        let id = try form { () throws(BodyError) in try SuiteName(json: head["suite"] ?? .null) }
        let (revision, floor) = (try self.revision("revision", of: head), try self.revision("floor", of: head))
        let schemaRevision = try self.revision("schemaRevision", of: head)
        var schema: SchemaVersion?
        let text = head["schemaText"]?.string
        let kept = try form { () throws(BodyError) in try text.map(JSONValue.init(ofSchemaText:)) }
        if let document = kept ?? head["schema"] {
            do {
                schema = SchemaVersion(try Schema(kept: document, text: text), revision: schemaRevision)
            } catch {
                throw damage("the schema is not valid: \(error)")
            }
        }
        var records = OrderedTree<KeyRecord>()
        var removed = RemovedKeys(unknownKeyRevision: floor)
        try expect(SnapshotFormat.records)
        while try !atLine(SnapshotFormat.removed) {
            guard records.restore(try record()) else { throw damage("the keys are not in order") }
        }
        while try !atLine(SnapshotFormat.suiteEnd) { removed.add(try record()) }
        return Suite(
            id, revision: revision, schema: schema, schemaRevision: schemaRevision, records: records, removed: removed)
    }

    private mutating func record() throws(RecoveryError) -> KeyRecord {
        let json = try parse(element)
        var record = try form { () throws(BodyError) in try KeyRecord(json) }
        if let origin = record.origin { record.origin = origins.insert(origin).memberAfterInsert }
        return record
    }

    private func revision(_ name: String, of json: JSONValue) throws(RecoveryError) -> Revision {
        try form { () throws(BodyError) in try Revision(json: json[name] ?? .null) }
    }

    /// Returns the object that the current line begins. The members of the object that follow in later lines, such as
    /// `suites` and `records`, are not in the result.
    private func openJSON() throws(RecoveryError) -> JSONValue {
        var closed: [UInt8] = []
        closed.append(bytesOf: lines.buffer.span.extracting(element))
        closed.append(UInt8(ascii: "}"))
        return try parse(closed.span)
    }

    private func parse(_ range: Range<Int>) throws(RecoveryError) -> JSONValue {
        try parse(lines.buffer.span.extracting(range))
    }

    private func parse(_ bytes: Span<UInt8>) throws(RecoveryError) -> JSONValue {
        do {
            return try JSONValue(kept: bytes)
        } catch {
            throw damage(error.description)
        }
    }

    private func form<Value>(_ read: () throws(BodyError) -> Value) throws(RecoveryError) -> Value {
        do {
            return try read()
        } catch {
            throw damage(error.description)
        }
    }

    /// The range of the current line in the buffer, without a leading comma.
    private var element: Range<Int> {
        let isNext = !line.range.isEmpty && lines.buffer[line.range.lowerBound] == UInt8(ascii: ",")
        return (line.range.lowerBound + (isNext ? 1 : 0))..<line.range.upperBound
    }

    private mutating func expect(_ text: StaticString) throws(RecoveryError) {
        guard try atLine(text) else { throw damage("it goes on otherwise than a snapshot") }
    }

    /// Advances to the next line. Returns true if that line is the given text.
    private mutating func atLine(_ text: StaticString) throws(RecoveryError) -> Bool {
        try advance()
        return lines.buffer.span.extracting(line.range).consists(of: text)
    }

    /// Adds the current line to the checksum and advances to the next line.
    private mutating func advance() throws(RecoveryError) {
        if line.isTerminated {
            var check = check
            check.update(lines.buffer.span.extracting(line.range.lowerBound..<(line.range.upperBound + 1)))
            self.check = check
        }
        guard let next = try nextLine(), next.isTerminated else { throw damage("it ends too early") }
        line = next
    }

    private mutating func nextLine() throws(RecoveryError) -> LineReader.Line? {
        do {
            return try lines.next()
        } catch {
            throw RecoveryError(error)
        }
    }

    private func damage(_ reason: String) -> RecoveryError {
        directory.damage(name, line: line.number, offset: line.offset, reason)
    }
}
