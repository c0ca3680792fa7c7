public import SettingsModel

extension Change {
    /// What a change leaves to what stands around it.
    public enum Form: Hashable, Sendable {
        /// For the watchers of one suite: without the name of the suite.
        case ofOneSuite
        /// For watchers of several suites and answers to transactions: complete for a reader.
        case ofSeveralSuites
        /// For the journal: with the record, and without revision and time, which the commit has once for all.
        case ofJournal
    }

    /// Writes the change in one of its forms. A concealed change has no values in any of them, so only what was never
    /// concealed belongs into the journal.
    public func write(to writer: inout JSONWriter, as form: Form) {
        writer.beginObject()
        if form != .ofOneSuite { writer.member("suite", suite) }
        writer.member("key", key)
        if !isConcealed {
            writer.member("old", old ?? .null)
            writer.member("new", new ?? .null)
        }
        writer.member("oldSource", oldSource)
        writer.member("source", source)
        if form == .ofJournal {
            writer.member("oldStored", record.oldRejected)
            writer.member("stored", record.rejected)
            writer.member("oldRevision", record.oldRevision)
            writer.member("oldModified", record.oldModified)
            // Mostly both follow from the mark.
            if record.wasSecret != (isSecret && oldStored != nil) { writer.member("oldSecret", record.wasSecret) }
            if record.isSecret != (isSecret && stored != nil) { writer.member("newSecret", record.isSecret) }
        } else {
            writer.member("revision", revision)
            writer.member("modified", modified)
        }
        writer.flag("secret", isSecret)
        writer.endObject()
    }

    /// Reads a change of a suite that is known from around it; a suite named in the change must be the same.
    public init(json: JSONValue, ofSuite suite: SuiteName) throws(BodyError) {
        let reader = try ObjectReader(json)
        let named: SuiteName? = try reader.optional("suite")
        guard named == nil || named == suite else {
            throw BodyError("expected a change of \(suite), found another suite").under("suite")
        }
        try self.init(
            reader, suite: suite, revision: reader.required("revision"), modified: reader.required("modified"))
    }

    /// Reads a change in the form of the journal, of a commit that is known from around it.
    init(json: JSONValue, ofCommit revision: Revision, at time: Timestamp) throws(BodyError) {
        let reader = try ObjectReader(json)
        try self.init(reader, suite: reader.required("suite"), revision: revision, modified: time)
        record = Record(
            oldRejected: try reader.optional("oldStored"), rejected: try reader.optional("stored"),
            oldRevision: try reader.optional("oldRevision"), oldModified: try reader.optional("oldModified"))
        record.wasSecret = try reader.optional("oldSecret") ?? (isSecret && oldStored != nil)
        record.isSecret = try reader.optional("newSecret") ?? (isSecret && stored != nil)
    }

    private init(
        _ reader: ObjectReader, suite: SuiteName, revision: Revision, modified: Timestamp
    ) throws(BodyError) {
        let isConcealed = !reader.has("old") && !reader.has("new")
        let isMarked = try reader.flag("secret")
        let oldSource: Source = try reader.required("oldSource")
        let source: Source = try reader.required("source")
        self.init(
            suite: suite, key: try reader.required("key"), old: reader.effectiveValue("old", oldSource),
            new: reader.effectiveValue("new", source), oldSource: oldSource, source: source, revision: revision,
            modified: modified, isSecret: isConcealed || isMarked)
        self.isConcealed = isConcealed
    }
}

extension Change: JSONReadable, JSONWritable {
    /// Reads a change that names its suite; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        try self.init(
            reader, suite: reader.required("suite"), revision: reader.required("revision"),
            modified: reader.required("modified"))
    }

    /// Writes the change with the name of its suite.
    public func write(to writer: inout JSONWriter) {
        write(to: &writer, as: .ofSeveralSuites)
    }
}

extension JSONWriter {
    mutating func member(_ name: String, _ changes: [Change], as form: Change.Form) {
        self.name(name)
        beginArray()
        for change in changes { change.write(to: &self, as: form) }
        endArray()
    }
}
