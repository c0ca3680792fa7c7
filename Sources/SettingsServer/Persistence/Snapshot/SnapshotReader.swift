internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Reads a snapshot line by line, so that there is never more of it in memory than the state.
struct SnapshotReader {
    private var lines: LineReader
    private var line: LineReader.Line
    /// The check of all lines before the present one.
    private var check = CRC32C()
    /// Whether the history is told by suites, which format 1 did not.
    private var hasLogs = true
    private var journal = Revision.zero
    /// Up to where the history has only what a suite protects.
    private var passed = Revision.zero

    /// The state of a snapshot.
    static func read(
        _ snapshot: DataDirectory.Numbered, in directory: DataDirectory, limits: History.Limits
    ) throws(SnapshotError) -> Snapshot {
        let file: OpenFile
        do {
            file = try OpenFile(directory.path(of: snapshot.name), .reading, in: directory.fileSystem)
        } catch {
            throw .file(error)
        }
        var reader = SnapshotReader(LineReader(file))
        let state = try reader.state(limits)
        guard state.revision == snapshot.revision else {
            throw .damaged(line: 1, offset: 0, reason: "it is of revision \(state.revision)")
        }
        return Snapshot(state: state, journal: reader.journal)
    }

    private init(_ lines: LineReader) {
        self.lines = lines
        line = LineReader.Line()
    }

    private mutating func state(_ limits: History.Limits) throws(SnapshotError) -> State {
        var state = try head(limits)
        try expect(SnapshotFormat.suites)
        while try !atLine(hasLogs ? SnapshotFormat.logs : SnapshotFormat.history) { state.restore(try suite()) }
        if hasLogs {
            while try !atLine(SnapshotFormat.history) {
                guard state.restore(try log()) else { throw damage("the logs are not in order") }
            }
        }
        while try !atLine(SnapshotFormat.historyEnd) {
            let json = try json()
            // What it weighs is found anew: another build may need more memory for it, or less.
            guard let fields = json.array, fields.count == 2, fields[0].integer != nil else {
                throw damage("a commit that is kept has its size before it")
            }
            let commit = try form { () throws(BodyError) in try Commit(json: fields[1]) }
            state.restore(KeptCommit(commit))
        }
        state.restore(passed: passed)
        try advance()
        let prefix = SnapshotFormat.check.utf8CodeUnitCount
        let last = Array(lines.buffer[line.range])
        let bytes = last.span
        guard bytes.count == prefix + 8 + SnapshotFormat.end.utf8CodeUnitCount,
            bytes.extracting(0..<prefix).consists(of: SnapshotFormat.check),
            bytes.extracting((prefix + 8)..<bytes.count).consists(of: SnapshotFormat.end)
        else { throw damage("the check is missing") }
        guard check.isWritten(as: bytes.extracting(prefix..<(prefix + 8))) else { throw damage("the check fails") }
        if try nextLine() != nil { throw damage("something comes behind its end") }
        return state
    }

    private mutating func head(_ limits: History.Limits) throws(SnapshotError) -> State {
        try advance()
        let json = try openJSON()
        guard let format = json["snapshot"]?.integer else { throw damage("it does not begin as a snapshot") }
        guard format <= SnapshotFormat.current else { throw .fromTheFuture(format: format) }
        hasLogs = format > 1
        guard let epoch = json["epoch"]?.string.flatMap({ Epoch($0) }) else { throw damage("the epoch is none") }
        journal = try form { () throws(BodyError) in try Revision(json: json["journal"] ?? .null) }
        let floor = try form { () throws(BodyError) in try Revision(json: json["historyFloor"] ?? .null) }
        var base = floor
        if hasLogs {
            base = try form { () throws(BodyError) in try Revision(json: json["historyBase"] ?? .null) }
            passed = try form { () throws(BodyError) in try Revision(json: json["passed"] ?? .null) }
        }
        let history = History(floor: floor, base: base)
        return try form { () throws(BodyError) in
            State(
                epoch: epoch, revision: try Revision(json: json["revision"] ?? .null),
                time: try Timestamp(json: json["time"] ?? .null),
                lastDrop: try Revision(json: json["lastDrop"] ?? .null),
                history: history, limits: limits)
        }
    }

    private mutating func suite() throws(SnapshotError) -> Suite {
        let json = try openJSON()
        let schemaRevision = try form { () throws(BodyError) in try Revision(json: json["schemaRevision"] ?? .null) }
        var schema: SchemaVersion?
        let text = json["schemaText"]?.string
        let kept = try form { () throws(BodyError) in try text.map(JSONValue.init(ofSchemaText:)) }
        if let document = kept ?? json["schema"] {
            do {
                schema = SchemaVersion(try Schema(kept: document, text: text), revision: schemaRevision)
            } catch {
                throw damage("the schema is not valid: \(error)")
            }
        }
        var records = OrderedTree<KeyRecord>()
        let (id, revision, floor) = try form { () throws(BodyError) in
            (
                try SuiteName(json: json["suite"] ?? .null), try Revision(json: json["revision"] ?? .null),
                try Revision(json: json["floor"] ?? .null)
            )
        }
        var removed = RemovedKeys(floor: floor)
        try expect(SnapshotFormat.records)
        while try !atLine(SnapshotFormat.removed) {
            guard records.append(try record()) else { throw damage("the keys are not in order") }
        }
        while try !atLine(SnapshotFormat.suiteEnd) { removed.add(try record()) }
        return Suite(
            id, revision: revision, schema: schema, schemaRevision: schemaRevision, records: records, removed: removed)
    }

    private func log() throws(SnapshotError) -> SuiteLog {
        let json = try json()
        return try form { () throws(BodyError) in try SuiteLog(json) }
    }

    private func record() throws(SnapshotError) -> KeyRecord {
        let json = try json()
        return try form { () throws(BodyError) in try KeyRecord(json) }
    }

    /// The value of the line, which may follow another one.
    private func json() throws(SnapshotError) -> JSONValue {
        try parse(lines.buffer.span.extracting(element))
    }

    /// The object that the line begins and that goes on behind it.
    private func openJSON() throws(SnapshotError) -> JSONValue {
        var closed: [UInt8] = []
        closed.append(bytesOf: lines.buffer.span.extracting(element))
        closed.append(UInt8(ascii: "}"))
        return try parse(closed.span)
    }

    private func parse(_ bytes: Span<UInt8>) throws(SnapshotError) -> JSONValue {
        do {
            return try JSONValue(kept: bytes)
        } catch {
            throw damage(error.description)
        }
    }

    private func form<Value>(_ read: () throws(BodyError) -> Value) throws(SnapshotError) -> Value {
        do {
            return try read()
        } catch {
            throw damage(error.description)
        }
    }

    /// Where in the buffer the line is, without the comma before it.
    private var element: Range<Int> {
        let isNext = !line.range.isEmpty && lines.buffer[line.range.lowerBound] == UInt8(ascii: ",")
        return (line.range.lowerBound + (isNext ? 1 : 0))..<line.range.upperBound
    }

    private mutating func expect(_ text: StaticString) throws(SnapshotError) {
        guard try atLine(text) else { throw damage("it goes on otherwise than a snapshot") }
    }

    /// Goes to the next line and says whether it is this one.
    private mutating func atLine(_ text: StaticString) throws(SnapshotError) -> Bool {
        try advance()
        return lines.buffer.span.extracting(line.range).consists(of: text)
    }

    /// Goes to the next line, once the present one is part of the check.
    private mutating func advance() throws(SnapshotError) {
        if line.isTerminated {
            var check = check
            check.update(lines.buffer.span.extracting(line.range.lowerBound..<(line.range.upperBound + 1)))
            self.check = check
        }
        guard let next = try nextLine(), next.isTerminated else { throw damage("it ends too early") }
        line = next
    }

    private mutating func nextLine() throws(SnapshotError) -> LineReader.Line? {
        do {
            return try lines.next()
        } catch {
            throw .file(error)
        }
    }

    private func damage(_ reason: String) -> SnapshotError {
        .damaged(line: line.number, offset: line.offset, reason: reason)
    }
}
