internal import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// The format of snapshots. A snapshot is one JSON document with the state of all suites (named sets of settings) and
/// the history in memory. Each record is on its own line, so that the daemon reads and writes a snapshot line by line.
///
///     {"snapshot":5,"epoch":"7f3a…","revision":17,"time":"…","lastDrop":0,"historyFloor":3
///     ,"historyBase":1,"passed":5,"journal":17,"historyTime":1763632600123
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
///     ],"pending":[
///     [{"id":"p16","kind":"confirm",…},{"revision":16,…}]
///     ]
///     ,"check":"crc32c:1a2b3c4d"}
///
/// A record of `records` has the key, the stored value, the revision and the time (in milliseconds) of the last change,
/// then optionally the source of the value (`stored` if omitted), `true` if the value is a secret, the caller that made
/// the change (null if the commit has a note but no caller), and the note of the change. A record that has an optional
/// element has all optional elements before it.
/// `removed` has the records of removed keys. Keys that are in neither list have no value, and count as changed at the
/// revision `floor`.
/// `schemaRevision` is the last commit that set or removed the schema of the suite.
///
/// A record of `logs` is about the commits of one suite in the history. It has the name of the suite, which may have
/// been dropped, and a revision: the history has every later commit that changed the suite, unless the commit was too
/// large for the history. An optional second revision is the last commit that was too large. A record of `history` has
/// the size in memory of a commit, and the commit.
///
/// A record of `pending` has a pending action. A revert has a second element, the commit that it reverts, and an
/// optional third element with the suites that the commit dropped and that a later commit created again. A snapshot
/// without pending actions has no list `pending` and has version 4 of the format, which earlier versions of the daemon
/// can read.
///
/// The history has every commit after the commit `historyFloor`, and some commits before it. `historyTime` is the time
/// of the commit `historyFloor`, if known. For a suite without a record in `logs`, the history has every commit after
/// `historyBase` that changed the suite. `passed` is the last commit that the history has examined for eviction: each
/// commit up to `passed` was evicted, or remains because it is among the newest commits of a suite.
///
/// `time` is the time of commit `revision`. `journal` is the revision in the name of the journal that continues the
/// snapshot. `lastDrop` is the last commit that dropped a suite. `check` is the checksum of all lines before its line.
enum SnapshotFormat {
    /// The newest version of the format that this daemon reads and writes.
    static let current: Int64 = 5
    /// The version of a snapshot without pending actions.
    static let withoutPendingActions: Int64 = 4

    static let suites: StaticString = ",\"suites\":["
    static let records: StaticString = ",\"records\":["
    static let removed: StaticString = "],\"removed\":["
    static let suiteEnd: StaticString = "]}"
    static let logs: StaticString = "],\"logs\":["
    static let history: StaticString = "],\"history\":["
    static let pending: StaticString = "],\"pending\":["
    static let listsEnd: StaticString = "]"
    static let checksum: StaticString = ",\"check\":\"crc32c:"
    static let end: StaticString = "\"}"
}

/// The content of a snapshot file.
package struct Snapshot {
    package let state: State
    /// The revision in the name of the journal that continues the snapshot. If neither this journal nor a later journal
    /// exists, the commits after the snapshot are lost.
    let journalRevision: Revision

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

    init(_ json: JSONValue) throws(BodyError) {
        guard let fields = json.array, fields.count == 2 || fields.count == 3 else {
            throw BodyError("an element of logs must be an array of two or three elements")
        }
        self.init(
            try SuiteName(json: fields[0]), evictedThrough: try Revision(json: fields[1]),
            lastOversized: fields.count == 3 ? try Revision(json: fields[2]) : .zero)
    }
}

extension KeyRecord: JSONWritable {
    /// Writes `[key, value, revision, milliseconds, source, isSecret, caller, note]` without unnecessary last elements.
    package func write(to json: inout JSONWriter) {
        json.beginArray()
        key.write(to: &json)
        if let stored { json.write(stored) } else { json.writeNull() }
        revision.write(to: &json)
        json.write(integer: modified.milliseconds)
        if valueSource != .stored || isSecret || origin != nil { json.write(string: valueSource.source.name) }
        if isSecret || origin != nil { json.write(bool: isSecret) }
        if let origin {
            if let by = origin.by { json.write(string: by) } else { json.writeNull() }
            if let note = origin.note { json.write(string: note) }
        }
        json.endArray()
    }

    init(_ json: JSONValue) throws(BodyError) {
        guard let fields = json.array, (4...8).contains(fields.count), let milliseconds = fields[3].integer else {
            throw BodyError("the record of a key must be an array of four to eight elements")
        }
        var valueSource = ValueSource.stored
        if fields.count > 4 {
            guard let named = fields[4].string.flatMap({ ValueSource(Source($0)) }) else {
                throw BodyError("the source of a record is unknown")
            }
            valueSource = named
        }
        self.init(
            key: try KeyName(json: fields[0]),
            stored: valueSource == .stored || valueSource == .invalid ? fields[1] : nil,
            valueSource: valueSource, revision: try Revision(json: fields[2]),
            modified: Timestamp(milliseconds: milliseconds),
            origin: fields.count > 6
                ? CommitOrigin(by: fields[6].string, note: fields.count > 7 ? fields[7].string : nil) : nil,
            isSecret: fields.count > 5 && fields[5] == .bool(true))
    }
}

extension RetainedCommit: JSONWritable {
    /// Writes `[size, commit]`.
    package func write(to json: inout JSONWriter) {
        json.beginArray()
        json.write(integer: Int64(size))
        commit.write(to: &json)
        json.endArray()
    }
}

extension PendingEntry: JSONWritable {
    /// Writes `[action, commit, recreatedSuites]` without unnecessary last elements.
    package func write(to json: inout JSONWriter) {
        json.beginArray()
        action.write(to: &json)
        if let commit { commit.commit.write(to: &json) }
        if !recreated.isEmpty { recreated.ordered(by: <).write(to: &json) }
        json.endArray()
    }

    convenience init(_ json: JSONValue) throws(BodyError) {
        guard let fields = json.array, (1...3).contains(fields.count) else {
            throw BodyError("a pending action must be an array of one to three elements")
        }
        let action = try PendingAction(json: fields[0])
        let commit = fields.count > 1 ? RetainedCommit(try Commit(json: fields[1])) : nil
        guard commit?.revision == action.commit else {
            throw BodyError("the second element of a pending action must be the commit that the action reverts")
        }
        let recreated = fields.count > 2 ? try [SuiteName](json: fields[2]) : []
        self.init(action, commit: commit, recreated: Set(recreated))
    }
}
