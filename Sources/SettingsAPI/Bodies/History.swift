public import SettingsModel

/// A time in the past: after a commit, or an instant.
public enum Moment: Hashable, Sendable {
    /// After this commit.
    case revision(Revision)
    /// After the last commit whose time is not later than the instant.
    case instant(Timestamp)

    /// Parses a revision, or an instant in the form of RFC 3339. Returns nil for any other text.
    package init?(_ text: String) {
        if let revision = Revision(text) {
            self = .revision(revision)
        } else if let instant = Timestamp(dateTime: text) {
            self = .instant(instant)
        } else {
            return nil
        }
    }

    /// The text form, which parses to the same moment.
    package var text: String {
        switch self {
        case .revision(let revision): revision.description
        case .instant(let instant): instant.description
        }
    }
}

extension Moment: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        if case .string(let text) = json, let instant = Timestamp(dateTime: text) {
            self = .instant(instant)
        } else if case .integer = json {
            self = .revision(try Revision(json: json))
        } else {
            throw BodyError("must be a revision, or an instant such as \"2026-11-20T10:00:00Z\"")
        }
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .revision(let revision): revision.write(to: &writer)
        case .instant(let instant): instant.write(to: &writer)
        }
    }
}

extension Timestamp {
    /// Parses any `date-time` of RFC 3339. Truncates it to milliseconds.
    package init?(dateTime text: String) {
        guard let read = DateTimeSyntax(text) else { return nil }
        let digits = read.time.fraction.prefix(3).map { Int64($0 - UInt8(ascii: "0")) }
        let milliseconds = zip(digits, [100, 10, 1]).reduce(0) { $0 + $1.0 * $1.1 }
        self.init(
            milliseconds: (Int64(read.secondsSince2001) + Int64(86_400 * Self.daysFrom1970To2001)) * 1000 + milliseconds
        )
    }
}

/// A page of the commits that affected a suite, the newest first.
public struct SuiteHistory: Equatable, Sendable {
    /// The suite.
    public var suite: SuiteName
    /// The commits.
    public var commits: [HistoryCommit]
    /// The revision before which the next page begins; nil if this page is the last.
    public var next: Revision?
    /// The oldest available revision: the history has every later commit.
    public var oldest: Revision

    package init(suite: SuiteName, commits: [HistoryCommit], next: Revision?, oldest: Revision) {
        self.suite = suite
        self.commits = commits
        self.next = next
        self.oldest = oldest
    }
}

/// The part of a commit that affected one suite.
public struct HistoryCommit: Equatable, Sendable {
    /// The revision.
    public var revision: Revision
    /// The time of the commit.
    public var time: Timestamp
    /// The caller of the write, and its reason.
    package var origin: CommitOrigin?
    /// True if the commit set or removed the schema.
    public var hasSchema: Bool
    /// True if the commit dropped the suite.
    public var isDrop: Bool
    /// The changes of keys of the suite.
    public var changes: [Change]
    /// The pending actions that the commit created or ended, or whose deadline it changed.
    package var pending: [PendingHistoryEvent] = []
    /// The settings that the commit, a revert, did not restore.
    package var kept: [KeptSetting] = []

    package init(
        revision: Revision, time: Timestamp, origin: CommitOrigin?, hasSchema: Bool, isDrop: Bool, changes: [Change]
    ) {
        self.revision = revision
        self.time = time
        self.origin = origin
        self.hasSchema = hasSchema
        self.isDrop = isDrop
        self.changes = changes
    }

    /// The name of the caller; nil if it is not known.
    public var by: String? { origin?.by }
    /// The reason of the caller; nil if it gave none.
    public var note: String? { origin?.note }
}

extension SuiteHistory: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        let suite: SuiteName = try reader.required("suite")
        self.init(
            suite: suite,
            commits: try reader.required("commits") { json throws(BodyError) in
                try json.list { json throws(BodyError) in try HistoryCommit(json, of: suite) }
            }, next: try reader.optional("next"), oldest: try reader.required("oldest"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("commits", commits)
        writer.member("next", next)
        writer.member("oldest", oldest)
    }
}

extension HistoryCommit: JSONWritable {
    fileprivate init(_ json: JSONValue, of suite: SuiteName) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            revision: try reader.required("revision"), time: try reader.required("time"), origin: try .read(reader),
            hasSchema: try reader.flag("schema"), isDrop: try reader.flag("dropped"),
            changes: try reader.changes(ofSuite: suite))
        pending = try reader.list("pending")
        kept = try reader.list("kept")
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("revision", revision)
        writer.member("time", time)
        writer.members(of: origin)
        writer.flag("schema", hasSchema)
        writer.flag("dropped", isDrop)
        writer.member("changes", changes, as: .ofOneSuite)
        writer.member("pending", unlessEmpty: pending)
        writer.member("kept", unlessEmpty: kept)
        writer.endObject()
    }
}

/// The net changes of a suite between two moments. The first moment may be the later one.
public struct SuiteDifference: Equatable, Sendable {
    /// The suite.
    public var suite: SuiteName
    /// The cursor of the second moment.
    public var cursor: Cursor
    /// The revision of the schema at the second moment; zero without a schema.
    public var schemaRevision: Revision
    /// True if the schemas at the two moments are different.
    public var isSchemaChanged: Bool
    /// The changes, one for each key with different values, ordered by key.
    public var changes: [Change]

    package init(
        suite: SuiteName, cursor: Cursor, schemaRevision: Revision, isSchemaChanged: Bool, changes: [Change]
    ) {
        self.suite = suite
        self.cursor = cursor
        self.schemaRevision = schemaRevision
        self.isSchemaChanged = isSchemaChanged
        self.changes = changes
    }
}

extension SuiteDifference: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        let suite: SuiteName = try reader.required("suite")
        self.init(
            suite: suite, cursor: try reader.required("cursor"), schemaRevision: try reader.required("schemaRevision"),
            isSchemaChanged: try reader.flag("schemaChanged"), changes: try reader.changes(ofSuite: suite))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.place(cursor)
        writer.member("schemaRevision", schemaRevision)
        writer.member("schemaChanged", isSchemaChanged)
        writer.member("changes", changes, as: .ofOneSuite)
    }
}

/// A request to undo a commit.
package struct UndoRequest: Equatable, Sendable, JSONReadable, JSONWritable {
    package var revision: Revision
    /// True to undo the commit even if later commits changed the same keys.
    package var isForced: Bool

    package init(_ revision: Revision, isForced: Bool = false) {
        self.revision = revision
        self.isForced = isForced
    }

    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json, only: ["revision", "force"])
        self.init(try reader.required("revision"), isForced: try reader.flag("force"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("revision", revision)
        writer.flag("force", isForced)
        writer.endObject()
    }
}

/// A request to restore earlier values: of all keys, of the given keys, or of the keys that begin with a prefix.
package struct RestoreRequest: Equatable, Sendable, JSONReadable, JSONWritable {
    package var moment: Moment
    package var prefix: String?
    package var keys: [KeyName]?

    package init(to moment: Moment, prefix: String? = nil, keys: [KeyName]? = nil) {
        self.moment = moment
        self.prefix = prefix
        self.keys = keys
    }

    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json, only: ["to", "prefix", "keys"])
        let keys: [KeyName]? = try reader.optional("keys")
        self.init(to: try reader.required("to"), prefix: try reader.optional("prefix"), keys: keys)
        guard prefix == nil || keys == nil else { throw BodyError("must have only one of prefix and keys (got both)") }
        if keys?.isEmpty ?? false {
            throw BodyError("must have at least one key (got an empty array)").inMember("keys")
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("to", moment)
        writer.member("prefix", prefix)
        if let keys { writer.member("keys", keys) }
        writer.endObject()
    }
}
