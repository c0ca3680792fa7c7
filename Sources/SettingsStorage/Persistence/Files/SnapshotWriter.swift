package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// Writes snapshots: the complete state of all suites (named sets of settings) and the history in memory as one JSON
/// document, laid out as ``SnapshotFormat`` describes. A writer writes one snapshot to a file or to a closure, or
/// several snapshots to one past file (a file with older commits).
package struct SnapshotWriter {
    /// The writer writes the buffer to the output when the buffer has this size.
    private static let bufferBytes = 256 << 10
    /// The writer asks the kernel to write the file to disk each time the writer has added this many bytes to the file.
    /// Larger amounts would delay the next sync of the journal.
    private static let writebackBytes = 1 << 20

    private enum Output {
        case file(OpenFile)
        /// A closure that is called with consecutive pieces of the document.
        case pieces(([UInt8]) -> Void)
    }

    private let output: Output
    private let isCancelled: () -> Bool
    private let chargeLineMemory: (_ bytes: Int) -> Void
    private var buffer: [UInt8] = []
    private var json = JSONWriter()
    /// The number of bytes that were written.
    private(set) var offset = 0
    /// The offset up to which the kernel was asked to write the file to disk.
    private var writebackOffset = 0
    /// The checksum of the current snapshot up to ``offset``.
    private var checksum = CRC32C()
    /// The first error. The writer writes nothing after an error.
    private var failure: FileError?

    /// Writes a snapshot durably into the data directory, and returns its size. If this method throws, there is no new
    /// snapshot. `journal` is the revision in the name of the journal that continues the snapshot. If `isCancelled`
    /// returns true, the error is `ECANCELED`. `chargeLineMemory` gets the memory of a long line in bytes, and 0 after
    /// the line, so that the calling code can count this memory toward a limit.
    package static func write(
        _ state: State, journal: Revision, in directory: DataDirectory, isCancelled: @escaping () -> Bool = { false },
        chargeLineMemory: @escaping (_ bytes: Int) -> Void = { _ in }
    ) throws(FileError) -> Int {
        let name = DataDirectory.snapshotName(at: state.revision)
        do throws(FileError) {
            let file = try OpenFile(directory.temporaryPath(of: name), .replacing, in: directory.fileSystem)
            let size = try write(
                state, journal: journal, to: file, isCancelled: isCancelled, chargeLineMemory: chargeLineMemory)
            try directory.renameTemporary(name)
            return size
        } catch {
            // If the removal fails, the next start removes the temporary file.
            try? directory.removeTemporary(name)
            throw error
        }
    }

    /// Writes a snapshot into an open file, syncs the file, and returns its size.
    @discardableResult
    static func write(
        _ state: State, journal: Revision, to file: OpenFile, isCancelled: @escaping () -> Bool = { false },
        chargeLineMemory: @escaping (_ bytes: Int) -> Void = { _ in }
    ) throws(FileError) -> Int {
        var writer = SnapshotWriter(.file(file), isCancelled, chargeLineMemory)
        try writer.add(state, journal: journal)
        try file.sync()
        return writer.offset
    }

    /// Renders a snapshot, and calls `send` with pieces of about 256 KiB. A longer line is one piece. Returns false if
    /// `isCancelled` returned true.
    package static func send(
        _ state: State, isCancelled: @escaping () -> Bool, _ send: @escaping ([UInt8]) -> Void
    ) -> Bool {
        var writer = SnapshotWriter(.pieces(send), isCancelled) { _ in }
        do throws(FileError) {
            try writer.add(state, journal: state.revision)
            return true
        } catch {
            return false
        }
    }

    init(_ file: OpenFile, _ isCancelled: @escaping () -> Bool = { false }) {
        self.init(.file(file), isCancelled) { _ in }
    }

    private init(
        _ output: Output, _ isCancelled: @escaping () -> Bool, _ chargeLineMemory: @escaping (_ bytes: Int) -> Void
    ) {
        self.output = output
        self.isCancelled = isCancelled
        self.chargeLineMemory = chargeLineMemory
        buffer.reserveCapacity(Self.bufferBytes + 4096)
    }

    /// Writes a line outside of snapshots, for the index of a past file. Returns its offset.
    mutating func add(line: [UInt8]) throws(FileError) -> Int {
        try write(line)
        return offset - line.count
    }

    /// Writes a snapshot of a state. ``SnapshotFormat`` explains the members.
    mutating func add(_ state: State, journal: Revision) throws(FileError) {
        checksum = CRC32C()
        addObjectStart(isFirst: true) { json in
            json.member(
                "snapshot",
                state.hasPendingActions ? SnapshotFormat.current : SnapshotFormat.withoutPendingActions)
            json.member("epoch", state.epoch.text)
            json.member("revision", state.revision)
            json.member("time", state.time)
            json.member("lastDrop", state.lastDropRevision)
            json.member("historyFloor", state.history.oldestAvailable)
            json.member("historyBase", state.history.oldestAvailableWithoutLog)
            json.member("passed", state.history.evictedThrough)
            json.member("journal", journal)
            json.member("historyTime", state.history.oldestAvailableTime?.milliseconds)
        }
        add(SnapshotFormat.suites)
        var isFirst = true
        state.forEachSuite { suite in
            add(suite, isFirst: isFirst)
            isFirst = false
            return failure == nil
        }
        add(SnapshotFormat.logs)
        addAll { (visit: (SuiteLog) -> Bool) in state.history.forEachLog(visit) }
        add(SnapshotFormat.history)
        addAll { (visit: (RetainedCommit) -> Bool) in state.history.forEach(after: .zero, visit) }
        if state.hasPendingActions {
            add(SnapshotFormat.pending)
            let entries = state.pending.byDeadline
            addAll { (visit: (PendingEntry) -> Bool) in _ = entries.allSatisfy(visit) }
        }
        add(SnapshotFormat.listsEnd)
        writeBuffer()
        let digits = checksum.hexDigits
        buffer.append(SnapshotFormat.checksum)
        for index in digits.indices { buffer.append(digits[index]) }
        add(SnapshotFormat.end)
        writeBuffer()
        if let failure { throw failure }
    }

    private mutating func add(_ suite: Suite, isFirst: Bool) {
        addObjectStart(isFirst: isFirst) { json in
            json.member("suite", suite.id)
            json.member("revision", suite.revision)
            json.member("schemaRevision", suite.schemaRevision)
            json.member("floor", suite.removed.unknownKeyRevision)
            // A schema has a text if writing the document would not give the text that the client sent.
            if let schema = suite.schema?.schema { json.member(schema: schema.document, orText: schema.text) }
        }
        add(SnapshotFormat.records)
        addAll(suite.forEachRecord)
        add(SnapshotFormat.removed)
        addAll { (visit: (KeyRecord) -> Bool) in _ = suite.removed.records.allSatisfy(visit) }
        add(SnapshotFormat.suiteEnd)
    }

    /// Adds a line with the beginning of an object, without the closing brace. The object continues in the next lines.
    private mutating func addObjectStart(isFirst: Bool, _ members: (inout JSONWriter) -> Void) {
        add(isFirst: isFirst) { json in
            json.beginObject()
            members(&json)
        }
    }

    /// Adds the elements of an array, each on its own line. Stops after an error.
    private mutating func addAll<Element: JSONWritable>(_ forEach: ((Element) -> Bool) -> Void) {
        var isFirst = true
        forEach { element in
            add(isFirst: isFirst) { element.write(to: &$0) }
            isFirst = false
            return failure == nil
        }
    }

    /// Adds an element of an array on its own line, preceded by a comma unless it is the first element.
    private mutating func add(isFirst: Bool, _ element: (inout JSONWriter) -> Void) {
        json.removeAll(keepingCapacity: true)
        element(&json)
        if !isFirst { buffer.append(UInt8(ascii: ",")) }
        let rendered = json.bytes
        guard rendered.count < Self.bufferBytes else {
            // A long line is written without a copy in the buffer, and its memory is released after the line. The
            // memory of a growing array is up to twice its size.
            chargeLineMemory(2 * rendered.count)
            writeBuffer()
            writeChecksummed(rendered)
            json = JSONWriter()
            chargeLineMemory(0)
            return buffer.append(UInt8(ascii: "\n"))
        }
        buffer.append(bytesOf: rendered.span)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.bufferBytes { writeBuffer() }
    }

    private mutating func add(_ line: StaticString) {
        buffer.append(line)
        buffer.append(UInt8(ascii: "\n"))
    }

    private mutating func writeBuffer() {
        if failure == nil && isCancelled() { failure = FileError(.write, "snapshot", code: SystemErrorCode.cancelled) }
        writeChecksummed(buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private mutating func writeChecksummed(_ bytes: [UInt8]) {
        guard failure == nil else { return }
        do throws(FileError) {
            var checksum = checksum
            checksum.update(bytes.span)
            self.checksum = checksum
            try write(bytes)
        } catch {
            failure = error
        }
    }

    private mutating func write(_ bytes: [UInt8]) throws(FileError) {
        switch output {
        case .pieces(let send):
            send(bytes)
            offset += bytes.count
        case .file(let file):
            try file.write(bytes.span, at: offset)
            offset += bytes.count
            guard offset - writebackOffset >= Self.writebackBytes else { return }
            try file.writeBack(from: writebackOffset, count: offset - writebackOffset)
            writebackOffset = offset
        }
    }
}
