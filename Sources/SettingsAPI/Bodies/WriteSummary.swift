public import SettingsModel

/// What a write to several keys, or to a schema, answers.
public struct WriteSummary: Hashable, Sendable {
    /// The commit. Where nothing changed, what the suite or schema goes by that was written to; after a transaction, the
    /// last commit before.
    public var revision: Revision
    /// Whether anything changed.
    public var changed: Bool
    /// The changes of keys, each naming its suite. A change of a schema alone may have none.
    public var changes: [Change]
    /// The revision that the schema now goes by, in the answer to a write of it.
    public var schemaRevision: Revision?
    /// Whether this is what a write would have answered.
    public var isDryRun: Bool
    /// Whether this is the first answer to a write, given again.
    public var isReplayed: Bool
    /// Whether the changes were taken out, for a caller that does not want them.
    private var lacksChanges = false

    /// A summary.
    public init(
        revision: Revision, changed: Bool, changes: [Change], schemaRevision: Revision? = nil,
        isDryRun: Bool = false, isReplayed: Bool = false
    ) {
        self.revision = revision
        self.changed = changed
        self.changes = changes
        self.schemaRevision = schemaRevision
        self.isDryRun = isDryRun
        self.isReplayed = isReplayed
    }
}

extension WriteSummary {
    /// The summary as a write is answered whose caller wants no changes back.
    package func withoutChanges() -> WriteSummary {
        var summary = self
        summary.changes = []
        summary.lacksChanges = true
        return summary
    }
}

extension WriteSummary: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            revision: try reader.required("revision"), changed: try reader.required("changed"),
            changes: try reader.required("changes"), schemaRevision: try reader.optional("schemaRevision"),
            isDryRun: try reader.flag("dryRun"), isReplayed: try reader.flag("replayed"))
    }

    /// Writes the summary.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("revision", revision)
        writer.member("changed", changed)
        if !lacksChanges { writer.member("changes", changes) }
        writer.member("schemaRevision", schemaRevision)
        writer.flag("dryRun", isDryRun)
        writer.flag("replayed", isReplayed)
        writer.endObject()
    }
}
