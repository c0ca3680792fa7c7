internal import SettingsModel

/// Writes a state as one JSON document, a line a record, in slices.
struct SnapshotWriter {
    private static let slice = 256 << 10
    /// How much may be written and not be on its way to the disk: more would make the journal's next sync wait.
    private static let unsynced = 1 << 20

    private let file: OpenFile
    private var buffer: [UInt8] = []
    private var offset = 0
    private var startedTo = 0
    private var check = CRC32C()
    private var failure: FileError?

    /// Writes the snapshot under its own name, once it lasts, and returns its size.
    static func write(_ state: State, in directory: DataDirectory) throws(FileError) -> Int {
        let fileSystem = directory.fileSystem
        let name = DataDirectory.snapshotName(at: state.revision)
        let temporary = directory.path(of: DataDirectory.temporaryName(of: name))
        do throws(FileError) {
            var writer = SnapshotWriter(try OpenFile(temporary, .replacing, in: fileSystem))
            try writer.write(state)
            try fileSystem.rename(temporary, to: directory.path(of: name))
            try fileSystem.syncDirectory(directory.path)
            return writer.offset
        } catch {
            // Nothing but room is lost if it stays: the next start takes it away.
            try? fileSystem.remove(temporary)
            throw error
        }
    }

    private init(_ file: OpenFile) {
        self.file = file
        buffer.reserveCapacity(Self.slice + 4096)
    }

    private mutating func write(_ state: State) throws(FileError) {
        add(head: state)
        add(text: ",\"suites\":[\n")
        var isFirst = true
        state.suites.forEach { suite in
            if !isFirst { add(text: ",") }
            isFirst = false
            add(suite)
            return failure == nil
        }
        add(text: "],\"history\":[\n")
        isFirst = true
        for kept in state.history.all {
            if !isFirst { add(text: ",") }
            isFirst = false
            add(kept.commit.jsonBytes())
            add(text: "\n")
            if failure != nil { break }
        }
        add(text: "]\n")
        flush()
        if let failure { throw failure }
        let digits = check.digits
        add(text: ",\"check\":\"crc32c:")
        for index in 0..<8 { buffer.append(digits[index]) }
        add(text: "\"}\n")
        flush()
        if let failure { throw failure }
        try file.sync()
    }

    private mutating func add(head state: State) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("snapshot")
        writer.write(integer: SnapshotFormat.current)
        writer.name("epoch")
        writer.write(string: state.epoch.text)
        writer.name("revision")
        state.revision.write(to: &writer)
        writer.name("time")
        state.time.write(to: &writer)
        writer.name("lastDrop")
        state.lastDrop.write(to: &writer)
        writer.name("historyFloor")
        state.history.floor.write(to: &writer)
        // The object goes on with the suites.
        add(writer.bytes)
        add(text: "\n")
    }

    private mutating func add(_ suite: Suite) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("suite")
        suite.id.write(to: &writer)
        writer.name("revision")
        suite.revision.write(to: &writer)
        writer.name("schemaRevision")
        suite.schemaRevision.write(to: &writer)
        writer.name("floor")
        suite.removed.floor.write(to: &writer)
        if let schema = suite.schema {
            writer.name("schema")
            schema.schema.document.write(to: &writer)
        }
        add(writer.bytes)
        add(text: "\n,\"records\":[\n")
        var isFirst = true
        suite.records.forEach { record in
            if !isFirst { add(text: ",") }
            isFirst = false
            add(record)
            return failure == nil
        }
        add(text: "],\"removed\":[\n")
        isFirst = true
        for record in suite.removed.records {
            if !isFirst { add(text: ",") }
            isFirst = false
            add(record)
        }
        add(text: "]}\n")
    }

    private mutating func add(_ record: KeyRecord) {
        var writer = JSONWriter(reservingCapacity: 96)
        record.write(to: &writer)
        add(writer.bytes)
        add(text: "\n")
    }

    private mutating func add(text: StaticString) {
        text.withUTF8Buffer { buffer.append(contentsOf: $0) }
    }

    private mutating func add(_ bytes: [UInt8]) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.slice { flush() }
    }

    private mutating func flush() {
        guard failure == nil else { return }
        do throws(FileError) {
            var check = check
            check.update(buffer.span)
            self.check = check
            try file.write(buffer.span, at: offset)
            offset += buffer.count
            buffer.removeAll(keepingCapacity: true)
            if offset - startedTo >= Self.unsynced {
                try file.startWriting(from: startedTo, count: offset - startedTo, waits: true)
                startedTo = offset
            }
        } catch {
            failure = error
        }
    }
}

/// What snapshots look like.
enum SnapshotFormat {
    /// The format that this daemon writes.
    static let current: Int64 = 1
}

extension KeyRecord {
    /// Writes `[key, stored, revision, milliseconds]`, and how the key stands if it is not simply stored.
    func write(to writer: inout JSONWriter) {
        writer.beginArray()
        key.write(to: &writer)
        if let stored { writer.write(stored) } else { writer.writeNull() }
        revision.write(to: &writer)
        writer.write(integer: modified.milliseconds)
        if standing != .stored { writer.write(string: standing.source.name) }
        writer.endArray()
    }

    /// Reads what ``write(to:)`` writes.
    init(json: JSONValue) throws(BodyError) {
        guard let fields = json.array, fields.count == 4 || fields.count == 5, let milliseconds = fields[3].integer
        else {
            throw BodyError("a record is an array of four or five")
        }
        var standing = Standing.stored
        if fields.count == 5 {
            guard let named = fields[4].string.flatMap({ Standing(Source($0)) }) else {
                throw BodyError("a record stands as nobody knows here")
            }
            standing = named
        }
        self.init(
            key: try KeyName(json: fields[0]), stored: standing == .stored || standing == .invalid ? fields[1] : nil,
            standing: standing, revision: try Revision(json: fields[2]),
            modified: Timestamp(milliseconds: milliseconds))
    }
}
