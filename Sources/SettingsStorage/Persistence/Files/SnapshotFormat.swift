internal import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// The format of snapshots: one JSON document, laid out in lines that can be read and written one at a time.
///
///     {"snapshot":4,"epoch":"7f3a…","revision":17,"time":"…","lastDrop":0,"historyFloor":3
///     ,"historyBase":0,"passed":3,"journal":17,"historyTime":1763632600123
///     ,"suites":[
///     {"suite":"app","revision":17,"schemaRevision":0,"floor":0
///     ,"records":[
///     ["launchCount",42,17,1763632800123]
///     ,["theme",null,9,1763632700000,"default"]
///     ,["volume",7,12,1763632750000,"stored",false,"token:ci","louder"]
///     ],"removed":[
///     ]}
///     ],"logs":[
///     ["app",3]
///     ],"history":[
///     [312,{"revision":4,…}]
///     ]
///     ,"check":"crc32c:1a2b3c4d"}
///
/// A record is the key, what is stored, the commit and the time of the last change, the standing if it is not `stored`,
/// and `true` if what is stored is a secret, whatever the schema says. Behind these, which it then has all, come who made
/// the change and why, if that is known.
///
/// A log belongs to a suite, which may have been dropped. The history has every commit after its first revision that touched the
/// suite. Its second revision, if there is one, is the last commit that was too large for the history. The history has every commit
/// after `historyFloor`, and `historyTime` is the time of that commit, if it is known. `historyBase` is the oldest available revision
/// of suites without a log. The commits up to `passed` are retained because a suite protects them. A commit is written behind its
/// size. The check covers all lines before its own.
enum SnapshotFormat {
    /// The format that this daemon writes.
    static let current: Int64 = 4

    static let suites: StaticString = ",\"suites\":["
    static let records: StaticString = ",\"records\":["
    static let removed: StaticString = "],\"removed\":["
    static let suiteEnd: StaticString = "]}"
    static let logs: StaticString = "],\"logs\":["
    static let history: StaticString = "],\"history\":["
    static let historyEnd: StaticString = "]"
    static let check: StaticString = ",\"check\":\"crc32c:"
    static let end: StaticString = "\"}"
}

/// The content of a snapshot.
package struct Snapshot {
    package let state: State
    /// The journal that goes on from it, or a later one does: if there is none, what was committed since is lost.
    let journal: Revision

    var name: String { DataDirectory.snapshotName(at: state.revision) }
}

extension SuiteLog: JSONWritable {
    /// Writes `[suite, evictedThrough]`, and `lastOversized` unless it is zero.
    package func write(to json: inout JSONWriter) {
        json.beginArray()
        suite.write(to: &json)
        evictedThrough.write(to: &json)
        if lastOversized > .zero { lastOversized.write(to: &json) }
        json.endArray()
    }

    /// Reads what ``write(to:)`` writes.
    init(_ json: JSONValue) throws(BodyError) {
        guard let fields = json.array, fields.count == 2 || fields.count == 3 else {
            throw BodyError("a log is an array of two or three")
        }
        self.init(
            try SuiteName(json: fields[0]), evictedThrough: try Revision(json: fields[1]),
            lastOversized: fields.count == 3 ? try Revision(json: fields[2]) : .zero)
    }
}

extension KeyRecord: JSONWritable {
    /// Writes `[key, stored, revision, milliseconds]`, the standing if it is not `stored`, `true` for a secret, and the
    /// origin.
    package func write(to json: inout JSONWriter) {
        json.beginArray()
        key.write(to: &json)
        if let stored { json.write(stored) } else { json.writeNull() }
        revision.write(to: &json)
        json.write(integer: modified.milliseconds)
        if standing != .stored || isSecret || origin != nil { json.write(string: standing.source.name) }
        if isSecret || origin != nil { json.write(bool: isSecret) }
        if let origin {
            if let by = origin.by { json.write(string: by) } else { json.writeNull() }
            if let note = origin.note { json.write(string: note) }
        }
        json.endArray()
    }

    /// Reads what ``write(to:)`` writes.
    init(_ json: JSONValue) throws(BodyError) {
        guard let fields = json.array, (4...8).contains(fields.count), let milliseconds = fields[3].integer else {
            throw BodyError("a record is an array of four to eight")
        }
        var standing = Standing.stored
        if fields.count > 4 {
            guard let named = fields[4].string.flatMap({ Standing(Source($0)) }) else {
                throw BodyError("the standing of a record is unknown")
            }
            standing = named
        }
        self.init(
            key: try KeyName(json: fields[0]), stored: standing == .stored || standing == .invalid ? fields[1] : nil,
            standing: standing, revision: try Revision(json: fields[2]),
            modified: Timestamp(milliseconds: milliseconds),
            origin: fields.count > 6
                ? CommitOrigin(by: fields[6].string, note: fields.count > 7 ? fields[7].string : nil) : nil,
            isSecret: fields.count > 5 && fields[5] == .bool(true))
    }
}

extension KeptCommit: JSONWritable {
    /// Writes `[size, commit]`.
    package func write(to json: inout JSONWriter) {
        json.beginArray()
        json.write(integer: Int64(size))
        commit.write(to: &json)
        json.endArray()
    }
}
