internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The line with the member `past` of a past file, which locates the lines of its index. A past file has older commits,
/// which the history in memory may have evicted. The name `past-3-17.jsonl` means that it has all commits after
/// revision 3 (`from`) up to revision 17 (`to`). The file consists of lines of JSON. The index consists of the lines
/// whose first member after `crc` is `suites` or `commits`. In the example, 2 and 4 are versions of formats:
///
///     {"snapshot":4,…}                                  fragments, each in the format of a snapshot of one suite
///     {"crc":"…","suites":[["app",5,17,0,true],…]}      each fragment: suite, first and last commit, offset, hasBase
///     {"crc":"…","commits":[[5,1763632800123,"app"],…]} each commit: revision, time, one of the suites it changed
///     {"crc":"…","past":2,"from":3,"to":17,…}           the members of this struct
///     {"crc":"…","index":9123}                          the offset of the line above
///
/// A fragment has successive commits of one suite (a named set of settings). Most fragments also have the *base*: the
/// state of the suite after their last commit. To get an earlier state, a reader begins with a base and undoes commits.
/// For a fragment without a base, the reader begins with the base of a later fragment.
struct PastFile: Sendable {
    static let currentFormat: Int64 = 2
    // The maximum numbers of entries in one line of the index, so that a reader need not read the whole index.
    static let fragmentsPerLine = 256
    static let commitsPerLine = 1024

    let name: String
    /// The revision before the first commit of the file.
    let from: Revision
    /// The revision of the last commit of the file.
    let to: Revision
    /// The time of commit ``from``; nil if the writer did not know it.
    let fromTime: Timestamp?
    /// The time of commit ``to``.
    let toTime: Timestamp
    /// The latest time of all commits in the file. Clocks may run backwards, so it may be later than ``toTime``.
    let latestTime: Timestamp
    /// For each line with the member `suites`: the suite of its first fragment, and the offset of the line in the file.
    let suiteLines: [(first: SuiteName, offset: Int)]
    /// For each line with the member `commits`: its first commit, the earliest time of its commits, and its offset.
    let commitLines: [(first: Revision, earliest: Timestamp, offset: Int)]
    /// The size of the file in bytes.
    var size = 0

    /// The entry of a fragment in the index.
    struct Fragment: Sendable {
        let suite: SuiteName
        let first: Revision
        let last: Revision
        let offset: Int
        /// True if the fragment has a base. The base may say that the suite did not exist.
        let hasBase: Bool
    }

    /// The entry of a commit in the index.
    struct CommitEntry: Sendable {
        let revision: Revision
        let time: Timestamp
        /// One of the suites that the commit changed; nil if it changed no suite.
        let suite: SuiteName?
    }
}

extension PastFile {
    /// Writes the members of the line with the member `past`.
    func writeMembers(to json: inout JSONWriter) {
        json.member("past", Self.currentFormat)
        json.member("from", from)
        json.member("fromTime", fromTime?.milliseconds)
        json.member("to", to)
        json.member("toTime", toTime.milliseconds)
        json.member("latest", latestTime.milliseconds)
        json.name("suites")
        json.beginArray()
        for line in suiteLines {
            json.beginArray()
            line.first.write(to: &json)
            json.write(integer: Int64(line.offset))
            json.endArray()
        }
        json.endArray()
        json.name("commits")
        json.beginArray()
        for line in commitLines {
            json.beginArray()
            line.first.write(to: &json)
            json.write(integer: line.earliest.milliseconds)
            json.write(integer: Int64(line.offset))
            json.endArray()
        }
        json.endArray()
    }

    /// Decodes a line that ``writeMembers(to:)`` has written.
    init(_ name: String, _ json: JSONValue) throws(BodyError) {
        self.name = name
        from = try Revision(json: json["from"] ?? .null)
        fromTime = json["fromTime"]?.integer.map { Timestamp(milliseconds: $0) }
        to = try Revision(json: json["to"] ?? .null)
        toTime = Timestamp(milliseconds: try (json["toTime"] ?? .null).requiredInteger())
        latestTime = Timestamp(milliseconds: try (json["latest"] ?? .null).requiredInteger())
        suiteLines = try (json["suites"] ?? .null).list { json throws(BodyError) in
            let fields = try json.arrayElements(2)
            return (try SuiteName(json: fields[0]), Int(try fields[1].requiredInteger()))
        }
        commitLines = try (json["commits"] ?? .null).list { json throws(BodyError) in
            let fields = try json.arrayElements(3)
            return (
                try Revision(json: fields[0]), Timestamp(milliseconds: try fields[1].requiredInteger()),
                Int(try fields[2].requiredInteger())
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
        let fields = try json.arrayElements(5)
        self.init(
            suite: try SuiteName(json: fields[0]), first: try Revision(json: fields[1]),
            last: try Revision(json: fields[2]), offset: Int(try fields[3].requiredInteger()),
            hasBase: fields[4] == .bool(true))
    }
}

extension PastFile.CommitEntry: JSONWritable {
    func write(to json: inout JSONWriter) {
        json.beginArray()
        revision.write(to: &json)
        json.write(integer: time.milliseconds)
        if let suite { suite.write(to: &json) } else { json.writeNull() }
        json.endArray()
    }

    init(_ json: JSONValue) throws(BodyError) {
        let fields = try json.arrayElements(3)
        self.init(
            revision: try Revision(json: fields[0]), time: Timestamp(milliseconds: try fields[1].requiredInteger()),
            suite: fields[2].isNull ? nil : try SuiteName(json: fields[2]))
    }
}

extension JSONValue {
    fileprivate func requiredInteger() throws(BodyError) -> Int64 {
        guard let integer else { throw BodyError("an integer is missing") }
        return integer
    }

    fileprivate func arrayElements(_ count: Int) throws(BodyError) -> [JSONValue] {
        guard let array, array.count == count else { throw BodyError("an entry must be an array of \(count) elements") }
        return array
    }
}
