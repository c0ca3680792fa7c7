internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// What snapshots look like: one JSON document, laid out in lines that can be read and written one at a time.
///
///     {"snapshot":2,"epoch":"7f3a…","revision":17,"time":"…","lastDrop":0,"historyFloor":3
///     ,"historyBase":0,"passed":3,"journal":17
///     ,"suites":[
///     {"suite":"app","revision":17,"schemaRevision":0,"floor":0
///     ,"records":[
///     ["launchCount",42,17,1763632800123]
///     ,["theme",null,9,1763632700000,"default"]
///     ],"removed":[
///     ]}
///     ],"logs":[
///     ["app",3]
///     ],"history":[
///     [312,{"revision":4,…}]
///     ]
///     ,"check":"crc32c:1a2b3c4d"}
///
/// A record is the key, what is stored, since which commit and when it stands as it does, how it stands if it is not
/// simply stored, and `true` if what is stored is a secret, whatever the schema says. A log is of a suite, which may
/// have been dropped, and says after which commit the history has those that touched it, and which was the last that
/// was too large for it, if there was one. `historyFloor` and `historyBase` are the floors of all suites together and
/// of those without a log; the commits up to `passed` are there only because a suite protects them. A commit comes
/// behind the number of bytes that it took in the journal. The check covers all lines before its own.
///
/// Format 1 has nothing of single suites: there all of the history begins behind `historyFloor`.
enum SnapshotFormat {
    /// The format that this daemon writes.
    static let current: Int64 = 2

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

/// What a snapshot holds.
struct Snapshot {
    let state: State
    /// The journal that goes on from it, or a later one does: if there is none, what was committed since is lost.
    let journal: Revision
}

/// Why a snapshot cannot be used.
enum SnapshotError: Error {
    case file(FileError)
    case fromTheFuture(format: Int64)
    case damaged(line: Int, offset: Int, reason: String)

    var description: String {
        switch self {
        case .file(let error): error.description
        case .fromTheFuture(let format): "it is of format \(format)"
        case .damaged(let line, let offset, let reason): "line \(line), at byte \(offset): \(reason)"
        }
    }
}
