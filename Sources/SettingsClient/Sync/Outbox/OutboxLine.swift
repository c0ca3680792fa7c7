internal import SettingsModel

/// A line of a file of kept writes.
///
///     {"crc":"…","outbox":1,"server":"http://127.0.0.1:7070","suite":"com.my.app"}
///     {"crc":"…","write":1,"requestKey":"…","do":[…]}
///     {"crc":"…","ended":1}
enum OutboxLine: Hashable, Sendable {
    /// The first: the version of the form, and whose the file is.
    case head(KeptOwner)
    /// A write by its number, or what an earlier one has become: that was refused, and this takes its place.
    case write(Int64, PendingChange)
    /// Nothing is to be done any more for a write.
    case ended(Int64)

    /// The form that is written here, and the newest that is understood.
    static let version: Int64 = 1

    /// What writes and files are numbered with: nobody comes to the end.
    static let numbers: Range<Int64> = 0..<(1 << 60)
}

/// Why a line is none that is understood here.
enum OutboxLineError: Error, Hashable {
    /// It is not as it was written, or never was a line.
    case damaged
    /// The file is of a later version.
    case future(Int64)
}

extension OutboxLine {
    /// The line with its end.
    var bytes: [UInt8] {
        var writer = JSONWriter(reservingCapacity: 256)
        writer.beginObject()
        switch self {
        case .head(let owner):
            writer.name("outbox")
            writer.write(integer: Self.version)
            writer.name("server")
            writer.write(string: owner.server)
            writer.name("suite")
            writer.write(string: owner.suite.text)
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

    /// Reads a line without its end.
    init(_ line: ArraySlice<UInt8>) throws(OutboxLineError) {
        guard let json = CheckedLine.object(in: line) else { throw .damaged }
        if let version = json["outbox"]?.integer {
            guard version <= Self.version else { throw .future(version) }
            guard let server = json["server"]?.string, let suite = json["suite"]?.string,
                let name = try? SuiteName(suite)
            else { throw .damaged }
            self = .head(KeptOwner(server: server, suite: name))
        } else if let number = json["write"]?.integer, Self.numbers.contains(number),
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

/// What a file of kept writes comes to. It does no input and output.
struct OutboxContents: Sendable {
    /// A write that nobody has ended.
    struct Write: Hashable, Sendable {
        let number: Int64
        var write: PendingChange
        /// How many bytes its line has.
        var size: Int
    }

    /// Whose the file is; nil if it does not say.
    private(set) var owner: KeptOwner?
    /// What is still to be done, in order.
    private(set) var writes: [Write] = []
    /// The highest number that was given to a write.
    private(set) var lastNumber: Int64 = 0
    /// The lines that nobody can read.
    private(set) var damaged: [Range<Int>] = []
    /// Where the last whole line ends. What stands behind it is the beginning of one that was not finished: nobody was
    /// told that it is kept.
    private(set) var end = 0

    /// Reads a file. One of a later version is not to be touched: it may mean what is not known here.
    init(_ bytes: [UInt8]) throws(OutboxLineError) {
        var known: [Int64: Write] = [:]
        while let lineEnd = bytes[end...].firstIndex(of: UInt8(ascii: "\n")) {
            try take(bytes[end..<lineEnd], &known)
            end = lineEnd + 1
        }
        // A line is written with its end. If one is whole without it, that end is what was damaged.
        let rest = bytes[end...]
        if let last = rest.indices.last, (try? OutboxLine(rest[..<last])) != nil {
            try take(rest[..<last], &known)
            damaged.append(last..<bytes.endIndex)
            end = bytes.endIndex
        }
        writes = known.values.sorted { $0.number < $1.number }
    }

    private mutating func take(_ line: ArraySlice<UInt8>, _ known: inout [Int64: Write]) throws(OutboxLineError) {
        do {
            switch try OutboxLine(line) {
            case .head(let owner): self.owner = owner
            case .write(let number, let write):
                known[number] = Write(number: number, write: write, size: line.count + 1)
                lastNumber = max(lastNumber, number)
            case .ended(let number): known[number] = nil
            }
        } catch {
            guard case .damaged = error else { throw error }
            damaged.append(line.startIndex..<line.endIndex)
        }
    }
}
