internal import Platform
internal import SettingsModel

/// A line of an outbox file.
///
///     {"crc":"…","outbox":1,"server":"http://127.0.0.1:7070","suite":"com.my.app"}
///     {"crc":"…","write":1,"requestKey":"…","do":[…]}
///     {"crc":"…","ended":1}
enum OutboxLine: Equatable, Sendable {
    /// The first line: the version of the format, and the owner.
    case head(FileOwner)
    /// A write with its number. A later line with the same number replaces the write.
    case write(Int64, PendingChange)
    /// The daemon has answered the write with this number.
    case ended(Int64)

    static let version: Int64 = 1

    /// The valid numbers of writes, and of outbox files (at the start of a file name). The upper bound prevents an
    /// overflow when the next number is computed.
    static let validNumbers: Range<Int64> = 0..<(1 << 60)
}

enum OutboxLineError: Error, Equatable {
    case damaged
    /// A later version of the library wrote the line, with this version of the format.
    case future(Int64)
}

extension OutboxLine {
    /// The line with its newline character.
    var bytes: [UInt8] {
        var writer = JSONWriter(reservingCapacity: 256)
        writer.beginObject()
        switch self {
        case .head(let owner):
            writer.name("outbox")
            writer.write(integer: Self.version)
            owner.writeMembers(to: &writer)
        case .write(let number, let write):
            writer.name("write")
            writer.write(integer: number)
            write.writeMembers(to: &writer)
        case .ended(let number):
            writer.name("ended")
            writer.write(integer: number)
        }
        writer.endObject()
        return CheckedLine.line(of: writer.bytes)
    }

    /// Parses a line without its newline character.
    init(_ line: ArraySlice<UInt8>) throws(OutboxLineError) {
        guard let json = CheckedLine.object(in: line) else { throw .damaged }
        if let version = json["outbox"]?.integer {
            guard version <= Self.version else { throw .future(version) }
            guard let owner = FileOwner(members: json) else { throw .damaged }
            self = .head(owner)
        } else if let number = json["write"]?.integer, Self.validNumbers.contains(number),
            let write = PendingChange(members: json)
        {
            self = .write(number, write)
        } else if let number = json["ended"]?.integer {
            self = .ended(number)
        } else {
            throw .damaged
        }
    }
}

/// The contents of an outbox file.
struct OutboxContents: Sendable {
    /// The owner. Nil if the file has no readable first line.
    private(set) var owner: FileOwner?
    /// The writes that have not ended, in order.
    private(set) var writes: [(number: Int64, write: PendingChange)] = []
    /// The number of damaged lines.
    private(set) var damagedCount = 0

    /// Parses a file. Throws `future` if a later version of the library wrote the file. The calling code must not
    /// change such a file.
    init(_ bytes: [UInt8]) throws(OutboxLineError) {
        var unendedWrites: [Int64: PendingChange] = [:]
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            try add(rest[..<end], &unendedWrites)
            rest = rest[(end + 1)...]
        }
        // An incomplete last line is ignored, because the program ended while it wrote the line. But if the line
        // without its last byte is valid, this byte is a damaged newline character. The line is then used, and counted
        // as damaged.
        if !rest.isEmpty, (try? OutboxLine(rest.dropLast())) != nil {
            try add(rest.dropLast(), &unendedWrites)
            damagedCount += 1
        }
        writes = unendedWrites.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private mutating func add(
        _ line: ArraySlice<UInt8>, _ unendedWrites: inout [Int64: PendingChange]
    ) throws(OutboxLineError) {
        do {
            switch try OutboxLine(line) {
            case .head(let owner): self.owner = owner
            case .write(let number, let write): unendedWrites[number] = write
            case .ended(let number): unendedWrites[number] = nil
            }
        } catch {
            guard case .damaged = error else { throw error }
            damagedCount += 1
        }
    }
}

/// A line that detects damage: an object whose first member is the CRC-32C of all bytes of the object after the
/// comma of this member.
///
///     {"crc":"0badcafe","write":1,"requestKey":"…","do":[…]}
enum CheckedLine {
    private static let opening = Array(#"{"crc":""#.utf8)
    private static let separator = Array(#"","#.utf8)
    private static let digitCount = 8

    /// Returns the line for the JSON text of an object that is not empty, with the newline character.
    static func line(of object: [UInt8]) -> [UInt8] {
        let rest = object.dropFirst()
        return opening + digits(of: rest) + separator + rest + [UInt8(ascii: "\n")]
    }

    /// Parses a line without its newline character. Returns nil if the line is damaged.
    static func object(in line: ArraySlice<UInt8>) -> JSONValue? {
        let checked = line.dropFirst(opening.count + digitCount + separator.count)
        guard !checked.isEmpty, line.starts(with: opening + digits(of: checked) + separator) else { return nil }
        return try? JSONValue(parsing: Array(line), maximumDepth: JSONValue.maximumDepthAroundValues)
    }

    private static func digits(of bytes: ArraySlice<UInt8>) -> [UInt8] {
        let digits = CRC32C(of: bytes.span).hexDigits
        return digits.indices.map { digits[$0] }
    }
}
