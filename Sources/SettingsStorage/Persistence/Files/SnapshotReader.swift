internal import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// Reads a snapshot: a JSON document with the complete state of all suites, laid out as ``SnapshotFormat`` describes.
/// The reader reads line by line, so that it needs memory for the state and one line, but not for the whole file.
package struct SnapshotReader {
    private let directory: DataDirectory
    private let name: String
    /// True if the file must end after the snapshot. False in a past file (a file with older commits), which contains
    /// several snapshots.
    private let mustEndFile: Bool
    private var lines: LineReader
    private var line = LineReader.Line()
    /// The origins (caller and note) of the records read so far, so that records with equal origins share one object.
    private var origins: Set<CommitOrigin> = []
    /// The checksum of all lines before the current line.
    private var checksum = CRC32C()

    /// Reads a snapshot. Throws if its revision is not the revision in its name.
    static func read(
        _ snapshot: DataDirectory.NumberedFile, in directory: DataDirectory, limits: History.Limits
    ) throws(RecoveryError) -> Snapshot {
        let result = try read(named: snapshot.name, in: directory, limits: limits)
        guard result.state.revision == snapshot.revision else {
            throw directory.damage(
                snapshot.name, line: 1,
                "the file has revision \(result.state.revision), but its name has \(snapshot.revision)")
        }
        return result
    }

    /// Reads a snapshot without comparing its revision with its name.
    package static func read(
        named name: String, in directory: DataDirectory, limits: History.Limits
    ) throws(RecoveryError) -> Snapshot {
        var reader = try SnapshotReader(name, directory)
        return try reader.snapshot(limits)
    }

    /// Verifies the revision and the checksum of a snapshot without building the state. Needs memory for one line only.
    static func verify(_ snapshot: DataDirectory.NumberedFile, in directory: DataDirectory) throws(RecoveryError) {
        var reader = try SnapshotReader(snapshot.name, directory)
        try reader.advance()
        let revision = try reader.revision("revision", of: try reader.parseObjectStart())
        guard revision == snapshot.revision else {
            throw reader.damage("the file has revision \(revision), but its name has \(snapshot.revision)")
        }
        while !reader.isAtChecksum { try reader.advance() }
        try reader.verifyLastLine()
    }

    /// True if the current line is the last line, which has the checksum.
    private var isAtChecksum: Bool {
        let prefix = SnapshotFormat.checksum.utf8CodeUnitCount
        let start = line.range.lowerBound
        return line.range.count > prefix
            && lines.buffer.span.extracting(start..<(start + prefix)).isEqual(to: SnapshotFormat.checksum)
    }

    /// Reads one of the snapshots in a past file. The history of the state has no limits.
    static func read(
        at offset: Int, of file: OpenFile, named name: String, in directory: DataDirectory
    ) throws(RecoveryError) -> State {
        var reader = SnapshotReader(
            LineReader(file, from: offset, bufferSize: 64 << 10), name, directory, mustEndFile: false)
        return try reader.snapshot(.unbounded).state
    }

    private init(_ name: String, _ directory: DataDirectory) throws(RecoveryError) {
        let file = try directory.mapErrors { () throws(FileError) in
            try OpenFile(directory.path(of: name), .reading, in: directory.fileSystem)
        }
        self.init(LineReader(file), name, directory, mustEndFile: true)
    }

    private init(_ lines: LineReader, _ name: String, _ directory: DataDirectory, mustEndFile: Bool) {
        (self.lines, self.name, self.directory, self.mustEndFile) = (lines, name, directory, mustEndFile)
    }

    private mutating func snapshot(_ limits: History.Limits) throws(RecoveryError) -> Snapshot {
        try advance()
        let head = try parseObjectStart()
        guard let format = head["snapshot"]?.integer else { throw damage("this is not a snapshot") }
        guard format <= SnapshotFormat.current else {
            throw .newerFormat(directory.path(of: name), format: format)
        }
        guard let epoch = head["epoch"]?.string.flatMap({ Epoch($0) }) else { throw damage("the epoch is invalid") }
        let revision = try self.revision("revision", of: head)
        let lastDropRevision = try self.revision("lastDrop", of: head)
        // `SnapshotFormat` explains these members of the first line. A `SuiteLog` lists the commits of one suite.
        let oldestAvailable = try self.revision("historyFloor", of: head)
        let oldestAvailableWithoutLog = try self.revision("historyBase", of: head)
        let (evictedThrough, journal) = (try self.revision("passed", of: head), try self.revision("journal", of: head))
        let time = try decode { () throws(BodyError) in try Timestamp(json: head["time"] ?? .null) }

        try expect(SnapshotFormat.suites)
        var suites = OrderedTree<Suite>()
        while try !advanceAndMatch(SnapshotFormat.logs) {
            guard suites.restore(try suite()) else { throw damage("the suites are not in order") }
        }
        var logs = OrderedTree<SuiteLog>()
        while try !advanceAndMatch(SnapshotFormat.history) {
            let json = try parse(elementRange)
            let log = try decode { () throws(BodyError) in try SuiteLog(json) }
            guard logs.restore(log) else { throw damage("the elements of logs are not in order") }
        }
        let oldestTime = head["historyTime"]?.integer.map { Timestamp(milliseconds: $0) }
        var history = History(
            oldestAvailable: oldestAvailable, at: oldestTime, oldestAvailableWithoutLog: oldestAvailableWithoutLog,
            logs: logs)
        var newest = Revision.zero
        try advance()
        while !isAt(SnapshotFormat.listsEnd), !isAt(SnapshotFormat.pending) {
            // `RetainedCommit` computes the size again, because another version of the daemon may have computed the
            // size in the file in another way.
            guard let fields = try parse(elementRange).array, fields.count == 2, fields[0].integer != nil else {
                throw damage("an element of the history must be an array of a size and a commit")
            }
            let commit = try decode { () throws(BodyError) in try Commit(json: fields[1]) }
            guard commit.revision > newest else { throw damage("the commits are not in order") }
            newest = commit.revision
            history.append(RetainedCommit(commit), limits: limits)
            try advance()
        }
        let pending =
            isAt(SnapshotFormat.pending) ? try readPendingActions(of: history, at: revision) : PendingActions()
        history.finishRestoring(evictedThrough: evictedThrough)
        try advance()
        try verifyLastLine()
        return Snapshot(
            state: State(
                epoch: epoch, revision: revision, time: time, suites: suites, lastDropRevision: lastDropRevision,
                history: history, limits: limits, pending: pending),
            journalRevision: journal)
    }

    /// Reads the pending actions up to the end of the lists. An action that reverts a commit of the history shares the
    /// commit with the history.
    private mutating func readPendingActions(
        of history: History, at revision: Revision
    ) throws(RecoveryError) -> PendingActions {
        var pending = PendingActions()
        while try !advanceAndMatch(SnapshotFormat.listsEnd) {
            let json = try parse(elementRange)
            let entry = try decode { () throws(BodyError) in try PendingEntry(json) }
            let shared = entry.action.commit.flatMap { history.commit($0) } ?? entry.commit
            pending.restore(
                PendingEntry(entry.action, commit: shared, recreated: entry.recreated), lastChange: revision)
        }
        return pending
    }

    /// Verifies the checksum in the current line. If ``mustEndFile`` is true, also verifies that the file ends there.
    private mutating func verifyLastLine() throws(RecoveryError) {
        let prefix = SnapshotFormat.checksum.utf8CodeUnitCount
        let last = Array(lines.buffer[line.range])
        let bytes = last.span
        guard bytes.count == prefix + 8 + SnapshotFormat.end.utf8CodeUnitCount,
            bytes.extracting(0..<prefix).isEqual(to: SnapshotFormat.checksum),
            bytes.extracting((prefix + 8)..<bytes.count).isEqual(to: SnapshotFormat.end)
        else { throw damage("the checksum is missing") }
        let digits = bytes.extracting(prefix..<(prefix + 8))
        guard checksum.matches(hexDigits: digits) else { throw damage("the checksum does not match") }
        if mustEndFile, try nextLine() != nil { throw damage("the file has further lines after the snapshot") }
    }

    private mutating func suite() throws(RecoveryError) -> Suite {
        let head = try parseObjectStart()
        let id = try decode { () throws(BodyError) in try SuiteName(json: head["suite"] ?? .null) }
        let revision = try self.revision("revision", of: head)
        // The revision of every key that has neither a record nor a tombstone (the record of a removed key).
        let unknownKeyRevision = try self.revision("floor", of: head)
        let schemaRevision = try self.revision("schemaRevision", of: head)
        var schema: SchemaVersion?
        let text = head["schemaText"]?.string
        let parsedText = try decode { () throws(BodyError) in try text.map(JSONValue.init(ofSchemaText:)) }
        if let document = parsedText ?? head["schema"] {
            do {
                // `stored:` also accepts two features of older schemas that a new schema must not have: `writeOnly`
                // inside the schema of a key, and Unicode properties that patterns no longer support.
                schema = SchemaVersion(try Schema(stored: document, text: text), revision: schemaRevision)
            } catch {
                throw damage("the schema is not valid: \(error)")
            }
        }
        var records = OrderedTree<KeyRecord>()
        var removed = RemovedKeys(unknownKeyRevision: unknownKeyRevision)
        try expect(SnapshotFormat.records)
        while try !advanceAndMatch(SnapshotFormat.removed) {
            guard records.restore(try record()) else { throw damage("the keys are not in order") }
        }
        while try !advanceAndMatch(SnapshotFormat.suiteEnd) { removed.add(try record()) }
        return Suite(
            id, revision: revision, schema: schema, schemaRevision: schemaRevision, records: records, removed: removed)
    }

    private mutating func record() throws(RecoveryError) -> KeyRecord {
        let json = try parse(elementRange)
        var record = try decode { () throws(BodyError) in try KeyRecord(json) }
        if let origin = record.origin { record.origin = origins.insert(origin).memberAfterInsert }
        return record
    }

    private func revision(_ name: String, of json: JSONValue) throws(RecoveryError) -> Revision {
        try decode { () throws(BodyError) in try Revision(json: json[name] ?? .null) }
    }

    /// Parses the beginning of an object in the current line. The object ends in a later line. The members in later
    /// lines, such as `suites` and `records`, are not in the result.
    private func parseObjectStart() throws(RecoveryError) -> JSONValue {
        var object: [UInt8] = []
        object.append(bytesOf: lines.buffer.span.extracting(elementRange))
        object.append(UInt8(ascii: "}"))
        return try parse(object.span)
    }

    private func parse(_ range: Range<Int>) throws(RecoveryError) -> JSONValue {
        try parse(lines.buffer.span.extracting(range))
    }

    private func parse(_ bytes: Span<UInt8>) throws(RecoveryError) -> JSONValue {
        do {
            return try JSONValue(stored: bytes)
        } catch {
            throw damage(error.description)
        }
    }

    private func decode<Value>(_ read: () throws(BodyError) -> Value) throws(RecoveryError) -> Value {
        do {
            return try read()
        } catch {
            throw damage(error.description)
        }
    }

    /// The range of the current line in the buffer, without the comma that separates it from the element before.
    private var elementRange: Range<Int> {
        let hasComma = !line.range.isEmpty && lines.buffer[line.range.lowerBound] == UInt8(ascii: ",")
        return (line.range.lowerBound + (hasComma ? 1 : 0))..<line.range.upperBound
    }

    /// Advances to the next line. Throws if that line is not the given text.
    private mutating func expect(_ text: StaticString) throws(RecoveryError) {
        guard try advanceAndMatch(text) else { throw damage("the line should be '\(text)'") }
    }

    /// Advances to the next line. Returns true if that line is the given text.
    private mutating func advanceAndMatch(_ text: StaticString) throws(RecoveryError) -> Bool {
        try advance()
        return isAt(text)
    }

    /// True if the current line is the given text.
    private func isAt(_ text: StaticString) -> Bool { lines.buffer.span.extracting(line.range).isEqual(to: text) }

    /// Adds the current line to the checksum and advances to the next line.
    private mutating func advance() throws(RecoveryError) {
        if line.isTerminated {
            var checksum = checksum
            checksum.update(lines.buffer.span.extracting(line.range.lowerBound..<(line.range.upperBound + 1)))
            self.checksum = checksum
        }
        guard let next = try nextLine(), next.isTerminated else { throw damage("the file ends too early") }
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
