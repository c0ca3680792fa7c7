package import SettingsModel

/// A line of a journal: a check, and what it covers, in one JSON object.
///
///     {"crc":"1a2b3c4d","after":16,"commit":{…}}
///
/// The check is the CRC-32C of everything behind `"crc":"1a2b3c4d",` up to the end of the line. `after` names the commit
/// before, so that a line that is missing is noticed.
package enum JournalLine: Sendable {
    /// How the journal begins.
    case head(JournalHead)
    /// A commit, and the one before it. `followsSync` says that everything before the line was on disk before it was
    /// written: what is missing before it cannot be the tail of a batch.
    case commit(Commit, after: Revision, followsSync: Bool)
    /// The daemon stopped as it should.
    case closed(after: Revision)

    private static let opening = "{\"crc\":\""
    private static let digits = 8
    /// Where what is checked begins.
    private static let checkedFrom = 18

    /// Adds the line, with its end, to bytes that will be written.
    package func append(to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: Self.opening.utf8)
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: Self.digits))
        bytes.append(contentsOf: "\",".utf8)
        var writer = JSONWriter(reservingCapacity: 320)
        writer.beginObject()
        switch self {
        case .head(let head): head.writeMembers(to: &writer)
        case .commit(let commit, let predecessor, let followsSync):
            writer.name("after")
            predecessor.write(to: &writer)
            if followsSync {
                writer.name("synced")
                writer.write(bool: true)
            }
            writer.name("commit")
            commit.write(to: &writer)
        case .closed(let predecessor):
            writer.name("after")
            predecessor.write(to: &writer)
            writer.name("closed")
            writer.write(bool: true)
        }
        writer.endObject()
        bytes.append(contentsOf: writer.bytes[1...])
        let check = CRC32C(of: bytes.span.extracting((start + Self.checkedFrom)..<bytes.count))
        let digits = check.digits
        for index in 0..<Self.digits { bytes[start + Self.opening.utf8.count + index] = digits[index] }
        bytes.append(UInt8(ascii: "\n"))
    }

    /// Reads a line without its end.
    package init(_ line: Span<UInt8>) throws(JournalLineError) {
        guard line.count > Self.checkedFrom + 1 else {
            throw JournalLineError("the line is cut short", hasGap: Self.hasZeros(line))
        }
        let written = line.extracting(Self.opening.utf8.count..<(Self.opening.utf8.count + Self.digits))
        guard CRC32C(of: line.extracting(Self.checkedFrom..<line.count)).isWritten(as: written) else {
            throw JournalLineError("the check of the line fails", hasGap: Self.hasZeros(line))
        }
        do {
            self = try Self.read(try JSONValue(parsing: line))
        } catch let error as FutureFormat {
            throw JournalLineError(error.description, isFromTheFuture: true)
        } catch let error as BodyError {
            throw JournalLineError("the line is sound but not understood: \(error)")
        } catch {
            throw JournalLineError("the line is sound but no JSON: \(error)")
        }
    }

    private static func read(_ json: JSONValue) throws -> JournalLine {
        if json["journal"] != nil { return .head(try JournalHead(json: json)) }
        guard let after = json["after"] else { throw BodyError("the member after is missing") }
        let predecessor = try Revision(json: after)
        if json["closed"] == true { return .closed(after: predecessor) }
        guard let commit = json["commit"] else { throw BodyError("the member commit is missing") }
        return .commit(try Commit(json: commit), after: predecessor, followsSync: json["synced"] == true)
    }

    private static func hasZeros(_ line: Span<UInt8>) -> Bool {
        for index in line.indices where line[index] == 0 { return true }
        return false
    }
}

/// What is wrong with a line.
package struct JournalLineError: Error, Hashable, CustomStringConvertible {
    package let description: String
    /// Whether a newer version wrote it.
    let isFromTheFuture: Bool
    /// Whether a part of the line was never written.
    let hasGap: Bool

    init(_ description: String, isFromTheFuture: Bool = false, hasGap: Bool = false) {
        self.description = description
        self.isFromTheFuture = isFromTheFuture
        self.hasGap = hasGap
    }
}

/// How a journal begins.
package struct JournalHead: Hashable, Sendable {
    /// The format that this daemon writes.
    package static let currentFormat: Int64 = 1

    package var format = Self.currentFormat
    /// The history that the commits belong to.
    package var epoch: Epoch
    /// The commit before the first one here. Whatever older journals have beyond it never was published.
    package var after: Revision
    /// What was promised of writes when the journal was begun.
    package var durability: Configuration.Durability

    func writeMembers(to writer: inout JSONWriter) {
        writer.name("journal")
        writer.write(integer: format)
        writer.name("epoch")
        writer.write(string: epoch.text)
        writer.name("after")
        after.write(to: &writer)
        writer.name("durability")
        writer.write(string: durability.rawValue)
    }

    init(epoch: Epoch, after: Revision, durability: Configuration.Durability) {
        self.epoch = epoch
        self.after = after
        self.durability = durability
    }

    init(json: JSONValue) throws {
        guard let format = json["journal"]?.integer else { throw BodyError("the format is no integer") }
        self.format = format
        guard format <= Self.currentFormat else { throw FutureFormat(format: format) }
        guard let epoch = json["epoch"]?.string.flatMap({ Epoch($0) }) else { throw BodyError("the epoch is none") }
        guard let durability = json["durability"]?.string.flatMap({ Configuration.Durability(rawValue: $0) }) else {
            throw BodyError("the durability is unknown")
        }
        self.epoch = epoch
        self.after = try Revision(json: json["after"] ?? .null)
        self.durability = durability
    }
}

/// That a file was written by a newer version.
struct FutureFormat: Error, CustomStringConvertible {
    let format: Int64

    var description: String { "it is of format \(format), which a newer version writes" }
}
