internal import SettingsModel

/// Reads a snapshot as it was written, line by line, so that there is never more of it in memory than the state.
struct SnapshotReader: ~Copyable {
    private var lines: LineReader
    private var check = CRC32C()
    private var line: [UInt8] = []
    private var number = 0
    private static let lineEnd = [UInt8(ascii: "\n")]

    /// The state of a snapshot. Throws `SnapshotError` if it is damaged.
    static func read(_ name: String, in directory: DataDirectory, limits: History.Limits) throws -> State {
        let file = try OpenFile(directory.path(of: name), .reading, in: directory.fileSystem)
        var reader = SnapshotReader(LineReader(file))
        return try reader.state(limits)
    }

    private init(_ lines: consuming LineReader) {
        self.lines = lines
    }

    private mutating func state(_ limits: History.Limits) throws -> State {
        var state = try head(limits)
        try expect(",\"suites\":[")
        while try advance(), !holds("],\"history\":[") { state.restore(try suite()) }
        while try advance(), !holds("]") {
            let size = line.count
            state.restore(KeptCommit(try read { json throws(BodyError) in try Commit(json: json) }, size: size))
        }
        guard holds("]") else { throw damage("the history does not end") }
        let expected = check.digits
        try nextLine()
        let last = line.span
        guard last.count == 27, last.extracting(0..<17).elementsEqual(",\"check\":\"crc32c:") else {
            throw damage("the check is missing")
        }
        for index in 0..<8 where last[17 + index] != expected[index] { throw damage("the check fails") }
        return state
    }

    private mutating func head(_ limits: History.Limits) throws -> State {
        try nextLine()
        line.append(UInt8(ascii: "}"))
        let json = try json()
        guard let format = json["snapshot"]?.integer else { throw damage("it does not begin as a snapshot") }
        guard format <= SnapshotFormat.current else { throw FutureFormat(format: format) }
        guard let epoch = json["epoch"]?.string.flatMap({ Epoch($0) }) else { throw damage("the epoch is none") }
        return State(
            epoch: epoch, revision: try Revision(json: json["revision"] ?? .null),
            time: try Timestamp(json: json["time"] ?? .null), lastDrop: try Revision(json: json["lastDrop"] ?? .null),
            historyFloor: try Revision(json: json["historyFloor"] ?? .null), limits: limits)
    }

    private mutating func suite() throws -> Suite {
        line.append(UInt8(ascii: "}"))
        let json = try json()
        let schemaRevision = try Revision(json: json["schemaRevision"] ?? .null)
        var schema: SchemaVersion?
        if let document = json["schema"] { schema = SchemaVersion(try Schema(document), revision: schemaRevision) }
        var suite = Suite(
            try SuiteName(json: json["suite"] ?? .null), revision: try Revision(json: json["revision"] ?? .null),
            schema: schema, schemaRevision: schemaRevision, floor: try Revision(json: json["floor"] ?? .null))
        try expect(",\"records\":[")
        while try advance(), !holds("],\"removed\":[") { suite.put(try read(KeyRecord.init(json:))) }
        while try advance(), !holds("]}") { suite.put(try read(KeyRecord.init(json:))) }
        return suite
    }

    private func read<Value>(_ make: (JSONValue) throws(BodyError) -> Value) throws -> Value {
        try make(json())
    }

    /// The value of the line, which may follow another one.
    private func json() throws -> JSONValue {
        let bytes = line.span
        let start = bytes.count > 0 && bytes[0] == UInt8(ascii: ",") ? 1 : 0
        do {
            return try JSONValue(parsing: bytes.extracting(start..<bytes.count))
        } catch {
            throw damage(error.description)
        }
    }

    private mutating func expect(_ text: StaticString) throws {
        try nextLine()
        guard holds(text) else { throw damage("it goes on otherwise than a snapshot") }
    }

    private mutating func advance() throws -> Bool {
        try nextLine()
        return true
    }

    private func holds(_ text: StaticString) -> Bool {
        line.span.elementsEqual(text)
    }

    /// Takes the next line. The check covers all lines before the last, with their ends.
    private mutating func nextLine() throws {
        number += 1
        line.removeAll(keepingCapacity: true)
        var (line, check) = (line, check)
        self.line = []
        let found = try lines.next { bytes throws(Never) in
            bytes.withUnsafeBufferPointer { line.append(contentsOf: $0) }
        }
        guard found != nil else { throw damage("it ends too early") }
        check.update(line.span)
        check.update(Self.lineEnd.span)
        (self.line, self.check) = (line, check)
    }

    private func damage(_ reason: String) -> SnapshotError {
        SnapshotError("line \(number): \(reason)")
    }
}

/// Why a snapshot cannot be used.
struct SnapshotError: Error, Hashable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension Span<UInt8> {
    fileprivate func elementsEqual(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { letters in
            for index in 0..<letters.count where letters[index] != self[index] { return false }
            return true
        }
    }
}
