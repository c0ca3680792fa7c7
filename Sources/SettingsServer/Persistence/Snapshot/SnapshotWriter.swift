internal import Glibc
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Writes a state as one JSON document, a line a record, in slices.
struct SnapshotWriter {
    private static let slice = 256 << 10
    /// How much may be written and not be on its way to the disk: more would make the journal's next sync wait.
    private static let unsynced = 1 << 20

    private let file: OpenFile
    private let isAbandoned: () -> Bool
    private var buffer: [UInt8] = []
    private var json = JSONWriter()
    private var offset = 0
    private var startedTo = 0
    private var check = CRC32C()
    private var failure: FileError?

    /// Writes the snapshot under its own name, once it lasts, and returns its size. What was written is taken away if
    /// that fails, and also once the closure says that nobody wants it any more (`ECANCELED`).
    static func write(
        _ state: State, journal: Revision, in directory: DataDirectory, isAbandoned: @escaping () -> Bool = { false }
    ) throws(FileError) -> Int {
        let fileSystem = directory.fileSystem
        let name = DataDirectory.snapshotName(at: state.revision)
        let temporary = directory.path(of: DataDirectory.temporaryName(of: name))
        do throws(FileError) {
            var writer = SnapshotWriter(try OpenFile(temporary, .replacing, in: fileSystem), isAbandoned)
            try writer.write(state, journal)
            try fileSystem.rename(temporary, to: directory.path(of: name))
            try fileSystem.syncDirectory(directory.path)
            return writer.offset
        } catch {
            // Nothing but room is lost if it stays: the next start takes it away.
            try? fileSystem.remove(temporary)
            throw error
        }
    }

    private init(_ file: OpenFile, _ isAbandoned: @escaping () -> Bool) {
        self.file = file
        self.isAbandoned = isAbandoned
        buffer.reserveCapacity(Self.slice + 4096)
    }

    private mutating func write(_ state: State, _ journal: Revision) throws(FileError) {
        add(head: state, journal)
        add(SnapshotFormat.suites)
        var isFirst = true
        state.forEachSuite { suite in
            add(suite, isFirst)
            isFirst = false
            return failure == nil
        }
        add(SnapshotFormat.logs)
        isFirst = true
        state.history.forEachLog { log in
            add(isFirst) { log.write(to: &$0) }
            isFirst = false
            return failure == nil
        }
        add(SnapshotFormat.history)
        isFirst = true
        for kept in state.history.all {
            add(isFirst) { json in
                json.beginArray()
                json.write(integer: Int64(kept.size))
                kept.commit.write(to: &json)
                json.endArray()
            }
            isFirst = false
            if failure != nil { break }
        }
        add(SnapshotFormat.historyEnd)
        flush()
        let digits = check.digits
        buffer.append(SnapshotFormat.check)
        for index in digits.indices { buffer.append(digits[index]) }
        add(SnapshotFormat.end)
        flush()
        if let failure { throw failure }
        try file.sync()
    }

    private mutating func add(head state: State, _ journal: Revision) {
        addOpen(true) { json in
            json.name("snapshot")
            json.write(integer: SnapshotFormat.current)
            json.name("epoch")
            json.write(string: state.epoch.text)
            json.name("revision")
            state.revision.write(to: &json)
            json.name("time")
            state.time.write(to: &json)
            json.name("lastDrop")
            state.lastDrop.write(to: &json)
            json.name("historyFloor")
            state.history.floor.write(to: &json)
            json.name("historyBase")
            state.history.base.write(to: &json)
            json.name("passed")
            state.history.passed.write(to: &json)
            json.name("journal")
            journal.write(to: &json)
        }
    }

    private mutating func add(_ suite: Suite, _ isFirst: Bool) {
        addOpen(isFirst) { json in
            json.name("suite")
            suite.id.write(to: &json)
            json.name("revision")
            suite.revision.write(to: &json)
            json.name("schemaRevision")
            suite.schemaRevision.write(to: &json)
            json.name("floor")
            suite.removed.floor.write(to: &json)
            if let schema = suite.schema {
                json.member(schema: schema.schema.document, orText: schema.schema.text)
            }
        }
        add(SnapshotFormat.records)
        var isFirst = true
        suite.forEachRecord { record in
            add(isFirst) { record.write(to: &$0) }
            isFirst = false
            return failure == nil
        }
        add(SnapshotFormat.removed)
        isFirst = true
        for record in suite.removed.records {
            add(isFirst) { record.write(to: &$0) }
            isFirst = false
        }
        add(SnapshotFormat.suiteEnd)
    }

    /// Adds a line of its own for the beginning of an object that goes on behind it.
    private mutating func addOpen(_ isFirst: Bool, _ members: (inout JSONWriter) -> Void) {
        add(isFirst) { json in
            json.beginObject()
            members(&json)
        }
    }

    /// Adds an element, in a line of its own.
    private mutating func add(_ isFirst: Bool, _ element: (inout JSONWriter) -> Void) {
        json.removeAll(keepingCapacity: true)
        element(&json)
        if !isFirst { buffer.append(UInt8(ascii: ",")) }
        let rendered = json.bytes
        buffer.append(bytesOf: rendered.span)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.slice { flush() }
    }

    private mutating func add(_ line: StaticString) {
        buffer.append(line)
        buffer.append(UInt8(ascii: "\n"))
    }

    private mutating func flush() {
        if failure == nil && isAbandoned() { failure = FileError(.write, file.path, code: ECANCELED) }
        defer { buffer.removeAll(keepingCapacity: true) }
        guard failure == nil else { return }
        do throws(FileError) {
            var check = check
            check.update(buffer.span)
            self.check = check
            try file.write(buffer.span, at: offset)
            offset += buffer.count
            if offset - startedTo >= Self.unsynced {
                try file.startWriting(from: startedTo, count: offset - startedTo, waits: true)
                startedTo = offset
            }
        } catch {
            failure = error
        }
    }
}

extension SuiteLog {
    /// Writes `[suite, start]`, and the last gap if there is one.
    func write(to json: inout JSONWriter) {
        json.beginArray()
        suite.write(to: &json)
        start.write(to: &json)
        if gap > .zero { gap.write(to: &json) }
        json.endArray()
    }

    /// Reads what ``write(to:)`` writes.
    init(_ json: JSONValue) throws(BodyError) {
        guard let fields = json.array, fields.count == 2 || fields.count == 3 else {
            throw BodyError("a log is an array of two or three")
        }
        self.init(
            try SuiteName(json: fields[0]), start: try Revision(json: fields[1]),
            gap: fields.count == 3 ? try Revision(json: fields[2]) : .zero)
    }
}

extension KeyRecord {
    /// Writes `[key, stored, revision, milliseconds]`, how the key stands if it is not simply stored, and `true` for a
    /// secret.
    func write(to json: inout JSONWriter) {
        json.beginArray()
        key.write(to: &json)
        if let stored { json.write(stored) } else { json.writeNull() }
        revision.write(to: &json)
        json.write(integer: modified.milliseconds)
        if standing != .stored || isSecret { json.write(string: standing.source.name) }
        if isSecret { json.write(bool: true) }
        json.endArray()
    }

    /// Reads what ``write(to:)`` writes.
    init(_ json: JSONValue) throws(BodyError) {
        guard let fields = json.array, (4...6).contains(fields.count), let milliseconds = fields[3].integer else {
            throw BodyError("a record is an array of four to six")
        }
        var standing = Standing.stored
        if fields.count > 4 {
            guard let named = fields[4].string.flatMap({ Standing(Source($0)) }) else {
                throw BodyError("a record stands as nobody knows here")
            }
            standing = named
        }
        self.init(
            key: try KeyName(json: fields[0]), stored: standing == .stored || standing == .invalid ? fields[1] : nil,
            standing: standing, revision: try Revision(json: fields[2]),
            modified: Timestamp(milliseconds: milliseconds), isSecret: fields.count > 5)
    }
}
