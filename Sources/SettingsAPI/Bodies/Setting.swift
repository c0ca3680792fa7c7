public import SettingsModel

/// A setting in an answer: its effective value, and the source of the value.
public struct SettingState: Equatable, Sendable {
    /// The suite.
    public var suite: SuiteName
    /// The key.
    public var key: KeyName
    /// The effective value; nil if there is none, or if it is concealed.
    public var value: JSONValue?
    /// The source of the value.
    public var source: Source
    /// The revision of the last commit that changed the stored value, the effective value or the source.
    public var revision: Revision
    /// The time of the last change; nil if the setting never changed, or if the time is not known.
    public var modified: Timestamp?
    /// The caller that made the last change, and the note.
    package var origin: CommitOrigin?
    /// True if the key is a secret.
    public var isSecret = false
    /// True if the values were removed because the caller may not read secrets, or asked for no values.
    public internal(set) var isConcealed = false
    /// The stored value if the schema does not allow it.
    public var stored: JSONValue?
    /// The violations of the stored value.
    public var errors: [Violation] = []

    /// True if the write changed anything; nil if this is not the answer to a write.
    public var changed: Bool?
    /// The state before the write; nil if this is not the answer to a write.
    public var previous: Previous?
    /// True if this is the answer to a dry run.
    public var isDryRun = false
    /// True if this repeats the answer to an earlier request with the same idempotency key.
    public var isReplayed = false
    /// An array with at most one element, because an optional `PendingDescription` would enlarge every setting.
    private var pendingActions: [PendingDescription] = []
    /// The pending action that will revert the setting, or that the write created.
    package var pending: PendingDescription? {
        get { pendingActions.first }
        set { pendingActions = newValue.map { [$0] } ?? [] }
    }

    /// The state of a setting before a write.
    public struct Previous: Equatable, Sendable {
        /// The effective value; nil if there was none.
        public var value: JSONValue?
        /// The source of the value.
        public var source: Source
        /// The revision of the setting.
        public var revision: Revision

        package init(value: JSONValue?, source: Source, revision: Revision) {
            self.value = value
            self.source = source
            self.revision = revision
        }
    }

    package init(
        suite: SuiteName, key: KeyName, value: JSONValue?, source: Source, revision: Revision, modified: Timestamp?
    ) {
        self.suite = suite
        self.key = key
        self.value = value
        self.source = source
        self.revision = revision
        self.modified = modified
    }

    /// The name of the caller that made the last change; nil if it is not known.
    public var by: String? { origin?.by }
    /// The note of the last change; nil if the change has no note.
    public var note: String? { origin?.note }

    /// The setting without the value of a secret, for an error that any caller may read.
    package var shownInErrors: SettingState {
        isSecret ? concealed() : self
    }

    /// Returns the setting for a caller that may not read secrets. Also removes the violations, because they can
    /// contain the value.
    package func concealed() -> SettingState {
        var setting = withoutValues()
        setting.stored = nil
        setting.errors = []
        setting.isSecret = true
        return setting
    }

    /// Returns the setting for a client that asked for no values.
    package func withoutValues() -> SettingState {
        var setting = self
        setting.value = nil
        setting.previous = nil
        setting.isConcealed = true
        return setting
    }
}

extension Change {
    /// The setting after the change, as the answer to the write shows it.
    package var settingAfter: SettingState {
        var setting = SettingState(
            suite: suite, key: key, value: new, source: source, revision: revision, modified: modified)
        setting.origin = origin
        setting.isSecret = isSecret
        setting.changed = true
        // The old revision is in `record`, which contains data that a `Change` in the HTTP API does not show.
        setting.previous = SettingState.Previous(
            value: old, source: oldSource, revision: record.oldRevision ?? .zero)
        return setting
    }

    /// Renders ``settingAfter`` of the first change without making a `SettingState`, because most answers to writes
    /// have this form. The parameter is the array, because a method of the change would copy the change.
    package static func settingBytes(afterFirstChangeOf changes: [Change]) -> [UInt8] {
        let changes = changes.span
        var writer = JSONWriter(reservingCapacity: 256)
        writer.beginObject()
        writer.members(
            ofSetting: changes[0].key, of: changes[0].suite, changes[0].new ?? .null, changes[0].source,
            changes[0].revision, changes[0].modified, by: changes[0].origin, isSecret: changes[0].isSecret)
        writer.member("changed", true)
        writer.name(literal: "previous")
        writer.beginObject()
        writer.members(
            ofPrevious: changes[0].old, changes[0].oldSource, changes[0].record.oldRevision ?? .zero)
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }
}

extension SettingState: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        let source: Source = try reader.required("source")
        self.init(
            suite: try reader.required("suite"), key: try reader.required("key"),
            value: reader.effectiveValue("value", source), source: source, revision: try reader.required("revision"),
            modified: try reader.optional("modified"))
        origin = try .read(reader)
        isConcealed = !reader.has("value")
        isSecret = try reader.flag("secret")
        stored = try reader.optional("stored")
        errors = try reader.list("errors")
        changed = try reader.optional("changed")
        previous = try reader.optional("previous")
        isDryRun = try reader.flag("dryRun")
        isReplayed = try reader.flag("replayed")
        pending = try reader.optional("pending")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.members(
            ofSetting: key, of: suite, isConcealed ? nil : value ?? .null, source, revision, modified, by: origin,
            isSecret: isSecret)
        writer.member("stored", stored)
        writer.member("errors", unlessEmpty: errors)
        writer.member("changed", changed)
        writer.member("previous", previous)
        writer.flag("dryRun", isDryRun)
        writer.flag("replayed", isReplayed)
        if !pendingActions.isEmpty { writer.member("pending", pending) }
    }
}

extension JSONWriter {
    /// Writes the members with which every setting begins.
    fileprivate mutating func members(
        ofSetting key: KeyName, of suite: SuiteName, _ value: JSONValue?, _ source: Source, _ revision: Revision,
        _ modified: Timestamp?, by origin: CommitOrigin?, isSecret: Bool
    ) {
        member("suite", suite)
        member("key", key)
        member("value", value)
        member("source", source)
        member("revision", revision)
        member("modified", modified)
        members(byAndNote: origin)
        flag("secret", isSecret)
    }

    /// Writes the members of a setting before a write.
    fileprivate mutating func members(ofPrevious value: JSONValue?, _ source: Source, _ revision: Revision) {
        member("value", value ?? .null)
        member("source", source)
        member("revision", revision)
    }
}

extension SettingState.Previous: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        let source: Source = try reader.required("source")
        self.init(
            value: reader.effectiveValue("value", source), source: source, revision: try reader.required("revision"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.members(ofPrevious: value, source, revision)
    }
}

/// The answer to a write to several keys, or to a schema.
public struct WriteSummary: Equatable, Sendable {
    /// The revision of the commit. If nothing changed, the revision of the suite or the schema; for a transaction, the
    /// last revision of the daemon.
    public var revision: Revision
    /// True if anything changed.
    public var changed: Bool
    /// The changes of keys with the names of their suites. Empty if only a schema changed.
    public var changes: [Change]
    /// The revision of the schema; nil unless this is the answer to a write of a schema.
    public var schemaRevision: Revision?
    /// The keys that a restore did not change, because the schema does not allow their earlier values, with the
    /// violations.
    public var skipped: [SchemaConflict] = []
    /// True if this is the answer to a dry run.
    public var isDryRun: Bool
    /// True if this repeats the answer to an earlier request with the same idempotency key.
    public var isReplayed: Bool
    /// The pending action that the write created, moved or ended.
    package var pending: PendingDescription?
    /// True if the changes were removed because the client asked for no values.
    private var lacksChanges = false

    package init(
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

    /// Returns the summary for a client that asked for no values.
    package func withoutChanges() -> WriteSummary {
        var summary = self
        summary.changes = []
        summary.lacksChanges = true
        return summary
    }
}

extension WriteSummary: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            revision: try reader.required("revision"), changed: try reader.required("changed"),
            changes: try reader.required("changes"), schemaRevision: try reader.optional("schemaRevision"),
            isDryRun: try reader.flag("dryRun"), isReplayed: try reader.flag("replayed"))
        skipped = try reader.list("skipped")
        pending = try reader.optional("pending")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("revision", revision)
        writer.member("changed", changed)
        if !lacksChanges { writer.member("changes", changes, as: .ofSeveralSuites) }
        writer.member("schemaRevision", schemaRevision)
        writer.member("skipped", unlessEmpty: skipped)
        writer.flag("dryRun", isDryRun)
        writer.flag("replayed", isReplayed)
        writer.member("pending", pending)
    }
}
