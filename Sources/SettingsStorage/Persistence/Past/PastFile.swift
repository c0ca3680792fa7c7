internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The index of a past file. A past file has older commits, which the history in memory may have evicted. The name
/// `past-3-17.jsonl` means that the file has all commits after revision 3 up to revision 17, here called `from` and
/// `to`. The file consists of lines of JSON:
///
///     {"snapshot":4,…}                                  fragments, each in the format of a snapshot of one suite
///     {"crc":"…","suites":[["app",4,17,0,true],…]}      each fragment: suite, first and last commit, offset, hasBase
///     {"crc":"…","commits":[[4,1763632800123,"app"],…]} each commit: revision, time, one of the suites it changed
///     {"crc":"…","past":2,"from":3,"to":17,…}           the members of this struct
///     {"crc":"…","index":9123}                          the offset of the line above
///
/// A fragment has commits of one suite (a named set of settings) in order. Most fragments also have the state of the
/// suite after their last commit, the *base*. A reader undoes commits from a base to get an earlier state. For a
/// fragment without a base, the reader begins with the base of a later fragment.
struct PastFile: Sendable {
    static let currentFormat: Int64 = 2
    // The maximum numbers of entries in one line of the index. A reader reads only the lines that it needs.
    static let fragmentsPerLine = 256
    static let commitsPerLine = 1024

    let name: String
    let from: Revision
    let to: Revision
    /// The time of commit ``from``; nil if the writer did not know it.
    let fromTime: Timestamp?
    /// The time of commit ``to``.
    let toTime: Timestamp
    /// The latest time of all commits in the file. Clocks may run backwards, so it may be later than ``toTime``.
    let latestTime: Timestamp
    /// For each line with the member `suites`: its first suite and its offset in the file.
    let suiteLines: [(first: SuiteName, offset: Int)]
    /// For each line with the member `commits`: its first commit, its earliest time, and its offset in the file.
    let commitLines: [(first: Revision, earliest: Timestamp, offset: Int)]
    /// The size of the file in bytes.
    var size = 0

    /// The entry of a fragment in the index.
    struct Fragment: Sendable {
        let suite: SuiteName
        let first: Revision
        let last: Revision
        let offset: Int
        /// True if the fragment contains the state of the suite after its last commit.
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
        json.write(integer: latestTime.milliseconds)
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
