public import SettingsModel

/// One setting as it is answered: its effective value and where that comes from.
public struct SettingState: Hashable, Sendable {
    /// The suite.
    public var suite: SuiteName
    /// The key.
    public var key: KeyName
    /// The effective value; nil if there is none, or if it is concealed.
    public var value: JSONValue?
    /// Where the value comes from.
    public var source: Source
    /// The last commit that changed value, source or validity.
    public var revision: Revision
    /// When that was; nil if it never happened.
    public var modified: Timestamp?
    /// Whether the key is a secret.
    public var isSecret = false
    /// Whether the values were taken out, for a caller that may not read secrets or wants no values.
    public internal(set) var isConcealed = false
    /// What is stored, where it does not fit the schema.
    public var stored: JSONValue?
    /// Why it does not fit.
    public var errors: [Violation] = []

    /// In the answer to a write: whether it changed anything.
    public var changed: Bool?
    /// In the answer to a write: what was there before.
    public var previous: Previous?
    /// Whether this is what a write would have answered.
    public var isDryRun = false
    /// Whether this is the first answer to a write, given again.
    public var isReplayed = false

    /// What a write found.
    public struct Previous: Hashable, Sendable {
        /// The effective value before; nil if there was none.
        public var value: JSONValue?
        /// Where it came from.
        public var source: Source
        /// The revision that the setting had.
        public var revision: Revision

        /// What a write found.
        public init(value: JSONValue?, source: Source, revision: Revision) {
            self.value = value
            self.source = source
            self.revision = revision
        }
    }

    /// A setting as a read answers it.
    public init(
        suite: SuiteName, key: KeyName, value: JSONValue?, source: Source, revision: Revision, modified: Timestamp?
    ) {
        self.suite = suite
        self.key = key
        self.value = value
        self.source = source
        self.revision = revision
        self.modified = modified
    }

    /// The setting as errors tell of it, to any caller: a secret without its value.
    public var toldInErrors: SettingState {
        isSecret ? concealed() : self
    }

    /// The setting as it is told to somebody who may not read secrets: that it is there, without any value. What
    /// violations say is about a value too.
    public func concealed() -> SettingState {
        var setting = self
        setting.value = nil
        setting.stored = nil
        setting.errors = []
        setting.previous = nil
        setting.isSecret = true
        setting.isConcealed = true
        return setting
    }
}

extension SettingState {
    /// The setting as a write is answered whose caller wants no values back.
    package func withoutValues() -> SettingState {
        var setting = self
        setting.value = nil
        setting.previous = nil
        setting.isConcealed = true
        return setting
    }
}

extension SettingState: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        let source: Source = try reader.required("source")
        self.init(
            suite: try reader.required("suite"), key: try reader.required("key"),
            value: reader.effectiveValue("value", source), source: source, revision: try reader.required("revision"),
            modified: try reader.optional("modified"))
        isConcealed = !reader.has("value")
        let isMarked = try reader.flag("secret")
        isSecret = isConcealed || isMarked
        stored = try reader.optional("stored")
        errors = try reader.list("errors")
        changed = try reader.optional("changed")
        previous = try reader.optional("previous")
        isDryRun = try reader.flag("dryRun")
        isReplayed = try reader.flag("replayed")
    }

    /// Writes the setting; a concealed one has neither `value` nor `previous`.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(to: &writer)
        writer.endObject()
    }

    /// Writes the members without the braces, for what has more of them.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("key", key)
        if !isConcealed { writer.member("value", value ?? .null) }
        writer.member("source", source)
        writer.member("revision", revision)
        writer.member("modified", modified)
        writer.flag("secret", isSecret)
        writer.member("stored", stored)
        writer.member("errors", unlessEmpty: errors)
        writer.member("changed", changed)
        writer.member("previous", previous)
        writer.flag("dryRun", isDryRun)
        writer.flag("replayed", isReplayed)
    }
}

extension SettingState.Previous: JSONReadable, JSONWritable {
    /// Reads what a write found.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        let source: Source = try reader.required("source")
        self.init(
            value: reader.effectiveValue("value", source), source: source, revision: try reader.required("revision"))
    }

    /// Writes value, source and revision.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("value", value ?? .null)
        writer.member("source", source)
        writer.member("revision", revision)
        writer.endObject()
    }
}

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
