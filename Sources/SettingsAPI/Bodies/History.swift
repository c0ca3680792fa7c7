public import SettingsModel

/// A page of the commits that affected a suite, the newest first.
public struct SuiteHistory: Equatable, Sendable {
    /// The suite.
    public var suite: SuiteName
    /// The commits.
    public var commits: [HistoryCommit]
    /// The revision before which the next page begins; nil if this page is the last.
    public var next: Revision?
    /// The oldest revision at which the suite can still be read. The history has every later commit of the suite.
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
    /// The caller of the write, and the note.
    package var origin: CommitOrigin?
    /// True if the commit set or removed the schema.
    public var hasSchema: Bool
    /// True if the commit dropped the suite.
    public var isDrop: Bool
    /// The changes of keys of the suite.
    public var changes: [Change]
    /// The pending actions that the commit created or ended, or whose deadline it changed.
    package var pending: [PendingHistoryEvent] = []
    /// If the commit is a revert, the settings and schemas that the revert did not restore.
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
    /// The note of the caller; nil if the request had no note.
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
        writer.members(byAndNote: origin)
        writer.flag("schema", hasSchema)
        writer.flag("dropped", isDrop)
        writer.member("changes", changes, as: .ofOneSuite)
        writer.member("pending", unlessEmpty: pending)
        writer.member("kept", unlessEmpty: kept)
        writer.endObject()
    }
}

/// The net changes of a suite between two moments. The first moment may be later than the second moment.
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
        writer.members(revisionAndCursor: cursor)
        writer.member("schemaRevision", schemaRevision)
        writer.member("schemaChanged", isSchemaChanged)
        writer.member("changes", changes, as: .ofOneSuite)
    }
}
