internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The index of a past file, which keeps commits that memory has no room for.
///
///     {"snapshot":4,…}                                  fragments: a snapshot of one suite each, with its commits
///     {"crc":"…","suites":[["app",4,17,0,true],…]}      the fragments: first and last commit, offset, with a base or not
///     {"crc":"…","commits":[[4,1763632800123,"app"],…]} the commits: revision, time, a suite that it touches
///     {"crc":"…","past":2,"from":3,"to":17,…}           what is below
///     {"crc":"…","index":9123}                          the offset of the line before
///
/// The file has all commits after `from` up to `to`, and its name says so: `past-3-17.jsonl`. A fragment has the commits of
/// a suite, in order, and mostly the suite as it stood after the last of them, its *base*. Without one, the base is that of
/// a later fragment.
struct PastFile: Sendable {
    static let currentFormat: Int64 = 2
    /// The number of entries in a line of the index.
    static let fragmentsInLine = 256
    static let commitsInLine = 1024

    let name: String
    let from: Revision
    let to: Revision
    /// The time of commit ``from``; nil if that is not known.
    let fromTime: Timestamp?
    /// The time of commit ``to``.
    let toTime: Timestamp
    /// The latest time of a commit.
    let latest: Timestamp
    /// The first suite of each line of fragments, with the offset of the line.
    let suites: [(first: SuiteName, offset: Int)]
    /// The first commit of each line of commits, the earliest time in the line, and its offset.
    let commits: [(first: Revision, earliest: Timestamp, offset: Int)]
    /// The bytes of the file.
    var size = 0

    /// A fragment in the index.
    struct Fragment: Sendable {
        let suite: SuiteName
        let first: Revision
        let last: Revision
        let offset: Int
        let hasBase: Bool
    }

    /// A commit in the index.
    struct Entry: Sendable {
        let revision: Revision
        let time: Timestamp
        /// One of the suites that it touches; nil if it touches none.
        let suite: SuiteName?
    }
}

extension PastFile {
    func writeMembers(to json: inout JSONWriter) {
        json.name("past")
        json.write(integer: Self.currentFormat)
        json.name("from")
        from.write(to: &json)
        if let fromTime {
            json.name("fromTime")
            json.write(integer: fromTime.milliseconds)
        }
        json.name("to")
        to.write(to: &json)
        json.name("toTime")
        json.write(integer: toTime.milliseconds)
        json.name("latest")
        json.write(integer: latest.milliseconds)
        json.name("suites")
        json.beginArray()
        for line in suites {
            json.beginArray()
            line.first.write(to: &json)
            json.write(integer: Int64(line.offset))
            json.endArray()
        }
        json.endArray()
        json.name("commits")
        json.beginArray()
        for line in commits {
            json.beginArray()
            line.first.write(to: &json)
            json.write(integer: line.earliest.milliseconds)
            json.write(integer: Int64(line.offset))
            json.endArray()
        }
        json.endArray()
    }

    /// Reads what ``writeMembers(to:)`` writes.
    init(_ name: String, _ json: JSONValue) throws(BodyError) {
        self.name = name
        from = try Revision(json: json["from"] ?? .null)
        fromTime = json["fromTime"]?.integer.map { Timestamp(milliseconds: $0) }
        to = try Revision(json: json["to"] ?? .null)
        toTime = Timestamp(milliseconds: try (json["toTime"] ?? .null).number())
        latest = Timestamp(milliseconds: try (json["latest"] ?? .null).number())
        suites = try (json["suites"] ?? .null).list { json throws(BodyError) in
            let fields = try json.fields(2)
            return (try SuiteName(json: fields[0]), Int(try fields[1].number()))
        }
        commits = try (json["commits"] ?? .null).list { json throws(BodyError) in
            let fields = try json.fields(3)
            return (
                try Revision(json: fields[0]), Timestamp(milliseconds: try fields[1].number()),
                Int(try fields[2].number())
            )
        }
    }
}

extension PastFile.Fragment: JSONWritable {
    func write(to json: inout JSONWriter) {
        json.beginArray()
        suite.write(to: &json)
        first.write(to: &json)
        last.write(to: &json)
        json.write(integer: Int64(offset))
        json.write(bool: hasBase)
        json.endArray()
    }

    init(_ json: JSONValue) throws(BodyError) {
        let fields = try json.fields(5)
        self.init(
            suite: try SuiteName(json: fields[0]), first: try Revision(json: fields[1]),
            last: try Revision(json: fields[2]), offset: Int(try fields[3].number()), hasBase: fields[4] == .bool(true))
    }
}

extension PastFile.Entry: JSONWritable {
    func write(to json: inout JSONWriter) {
        json.beginArray()
        revision.write(to: &json)
        json.write(integer: time.milliseconds)
        if let suite { suite.write(to: &json) } else { json.writeNull() }
        json.endArray()
    }

    init(_ json: JSONValue) throws(BodyError) {
        let fields = try json.fields(3)
        self.init(
            revision: try Revision(json: fields[0]), time: Timestamp(milliseconds: try fields[1].number()),
            suite: fields[2].isNull ? nil : try SuiteName(json: fields[2]))
    }
}

extension JSONValue {
    fileprivate func number() throws(BodyError) -> Int64 {
        guard let integer else { throw BodyError("a number is missing") }
        return integer
    }

    fileprivate func fields(_ count: Int) throws(BodyError) -> [JSONValue] {
        guard let array, array.count == count else { throw BodyError("an entry is an array of \(count)") }
        return array
    }
}
