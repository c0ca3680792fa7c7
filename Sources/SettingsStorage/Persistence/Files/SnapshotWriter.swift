package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// A writer of states, each as one JSON document, a line a record, in slices.
package struct SnapshotWriter {
    private static let slice = 256 << 10
    /// The bytes that may wait in the page cache: more would make the journal's next sync wait.
    private static let unsynced = 1 << 20

    private enum Output {
        case file(OpenFile)
        /// A closure that gets pieces in order.
        case pieces(([UInt8]) -> Void)
    }

    private let output: Output
    private let isAbandoned: () -> Bool
    private let chargeLine: (_ bytes: Int) -> Void
    private var buffer: [UInt8] = []
    private var json = JSONWriter()
    /// The end of what was written.
    private(set) var offset = 0
    private var startedTo = 0
    private var check = CRC32C()
    private var failure: FileError?

    /// Writes a snapshot, durably and under its own name, and returns its size. Removes what was written if that fails, or
    /// once `isAbandoned` returns true (`ECANCELED`).
    package static func write(
        _ state: State, journal: Revision, in directory: DataDirectory, isAbandoned: @escaping () -> Bool = { false },
        chargeLine: @escaping (_ bytes: Int) -> Void = { _ in }
    ) throws(FileError) -> Int {
        let name = DataDirectory.snapshotName(at: state.revision)
        do throws(FileError) {
            let file = try OpenFile(directory.temporaryPath(of: name), .replacing, in: directory.fileSystem)
            let size = try write(
                state, journal: journal, to: file, isAbandoned: isAbandoned, chargeLine: chargeLine)
            try directory.placeTemporary(name)
            return size
        } catch {
            // Only room is lost if it stays: the next start removes it.
            try? directory.removeTemporary(name)
            throw error
        }
    }

    /// Writes a snapshot into a file, durably, and returns its size.
    @discardableResult
    static func write(
        _ state: State, journal: Revision, to file: OpenFile, isAbandoned: @escaping () -> Bool = { false },
        chargeLine: @escaping (_ bytes: Int) -> Void = { _ in }
    ) throws(FileError) -> Int {
        var writer = SnapshotWriter(.file(file), isAbandoned, chargeLine)
        try writer.add(state, journal: journal)
        try file.sync()
        return writer.offset
    }

    /// Renders a snapshot and calls `send` with its pieces, most of them of 256 KiB. Returns false if `isAbandoned` returned true
    /// before the end.
    package static func send(
        _ state: State, isAbandoned: @escaping () -> Bool, _ send: @escaping ([UInt8]) -> Void
    ) -> Bool {
        var writer = SnapshotWriter(.pieces(send), isAbandoned) { _ in }
        do throws(FileError) {
            try writer.add(state, journal: state.revision)
            return true
        } catch {
            return false
        }
    }

    init(_ file: OpenFile, _ isAbandoned: @escaping () -> Bool = { false }) {
        self.init(.file(file), isAbandoned) { _ in }
    }

    private init(
        _ output: Output, _ isAbandoned: @escaping () -> Bool, _ chargeLine: @escaping (_ bytes: Int) -> Void
    ) {
        self.output = output
        self.isAbandoned = isAbandoned
        self.chargeLine = chargeLine
        buffer.reserveCapacity(Self.slice + 4096)
    }

    /// Adds a line of another format behind the documents. Returns its offset.
    mutating func add(line: [UInt8]) throws(FileError) -> Int {
        try write(line)
        return offset - line.count
    }

    /// Adds a document.
    mutating func add(_ state: State, journal: Revision) throws(FileError) {
        check = CRC32C()
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
            state.history.oldestAvailable.write(to: &json)
            json.name("historyBase")
            state.history.oldestAvailableWithoutLog.write(to: &json)
            json.name("passed")
            state.history.evictedThrough.write(to: &json)
            json.name("journal")
            journal.write(to: &json)
            if let time = state.history.oldestAvailableTime {
                json.name("historyTime")
                json.write(integer: time.milliseconds)
            }
        }
        add(SnapshotFormat.suites)
        var isFirst = true
        state.forEachSuite { suite in
            add(suite, isFirst)
            isFirst = false
            return failure == nil
        }
        add(SnapshotFormat.logs)
        addAll { (visit: (SuiteLog) -> Bool) in state.history.forEachLog(visit) }
        add(SnapshotFormat.history)
        addAll { (visit: (KeptCommit) -> Bool) in state.history.forEach(after: .zero, visit) }
        add(SnapshotFormat.historyEnd)
        flush()
        let digits = check.digits
        buffer.append(SnapshotFormat.check)
        for index in digits.indices { buffer.append(digits[index]) }
        add(SnapshotFormat.end)
        flush()
        if let failure { throw failure }
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
            suite.removed.unknownKeyRevision.write(to: &json)
            if let schema = suite.schema {
                json.member(schema: schema.schema.document, orText: schema.schema.text)
            }
        }
        add(SnapshotFormat.records)
        addAll(suite.forEachRecord)
        add(SnapshotFormat.removed)
        addAll { (visit: (KeyRecord) -> Bool) in _ = suite.removed.records.allSatisfy(visit) }
        add(SnapshotFormat.suiteEnd)
    }

    /// Adds a line of its own for the beginning of an object that goes on behind it.
    private mutating func addOpen(_ isFirst: Bool, _ members: (inout JSONWriter) -> Void) {
        add(isFirst) { json in
            json.beginObject()
            members(&json)
        }
    }

    /// Adds the elements of an array, each in a line of its own, until the file cannot be written.
    private mutating func addAll<Element: JSONWritable>(_ forEach: ((Element) -> Bool) -> Void) {
        var isFirst = true
        forEach { element in
            add(isFirst) { element.write(to: &$0) }
            isFirst = false
            return failure == nil
        }
    }

    /// Adds an element in a line of its own.
    private mutating func add(_ isFirst: Bool, _ element: (inout JSONWriter) -> Void) {
        json.removeAll(keepingCapacity: true)
        element(&json)
        if !isFirst { buffer.append(UInt8(ascii: ",")) }
        let rendered = json.bytes
        guard rendered.count < Self.slice else {
            // A long line is written from where it was rendered, and its memory is not kept for the next line.
            chargeLine(2 * rendered.count)
            flush()
            write(checking: rendered)
            json = JSONWriter()
            chargeLine(0)
            return buffer.append(UInt8(ascii: "\n"))
        }
        buffer.append(bytesOf: rendered.span)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.slice { flush() }
    }

    private mutating func add(_ line: StaticString) {
        buffer.append(line)
        buffer.append(UInt8(ascii: "\n"))
    }

    private mutating func flush() {
        if failure == nil && isAbandoned() { failure = FileError(.write, "snapshot", code: SystemErrorCode.cancelled) }
        write(checking: buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private mutating func write(checking bytes: [UInt8]) {
        guard failure == nil else { return }
        do throws(FileError) {
            var check = check
            check.update(bytes.span)
            self.check = check
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
            guard offset - startedTo >= Self.unsynced else { return }
            try file.writeBack(from: startedTo, count: offset - startedTo)
            startedTo = offset
        }
    }
}
