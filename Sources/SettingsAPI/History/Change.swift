public import SettingsModel

/// What one commit did to one key: the record that the journal, the watchers and the clients share.
///
/// Values are effective ones: removing a key reports the default as `new`, or none with the source ``Source/unset``.
public struct Change: Hashable, Sendable {
    /// The suite of the key.
    public var suite: SuiteName
    /// The key.
    public var key: KeyName
    /// The effective value before; nil if there was none, or if it is concealed.
    public var old: JSONValue?
    /// The effective value after; nil if there is none, or if it is concealed.
    public var new: JSONValue?
    /// Where `old` came from.
    public var oldSource: Source
    /// Where `new` comes from.
    public var source: Source
    /// The commit.
    public var revision: Revision
    /// When the commit was made.
    public var modified: Timestamp
    /// Whether the key is a secret, or was when this was written.
    public var isSecret: Bool
    /// Whether the values were taken out for somebody who may not read secrets.
    public internal(set) var isConcealed = false

    /// What only the journal keeps: enough to undo the change and to answer a repeated request as the first time.
    public var record = Record()

    /// The part of a change that the wire does not show.
    public struct Record: Hashable, Sendable {
        /// What was stored before, where it did not fit the schema.
        public var oldRejected: JSONValue?
        /// What is stored now, where it does not fit the schema.
        public var rejected: JSONValue?
        /// The revision that the setting had before.
        public var oldRevision: Revision?
        /// The time that went with that revision.
        public var oldModified: Timestamp?
        /// Whether what was stored before was a secret, whatever the schema says.
        public var wasSecret: Bool
        /// Whether what is stored now is a secret, whatever the schema says.
        public var isSecret: Bool

        /// A record; all of it may be missing.
        public init(
            oldRejected: JSONValue? = nil, rejected: JSONValue? = nil, oldRevision: Revision? = nil,
            oldModified: Timestamp? = nil, wasSecret: Bool = false, isSecret: Bool = false
        ) {
            self.oldRejected = oldRejected
            self.rejected = rejected
            self.oldRevision = oldRevision
            self.oldModified = oldModified
            self.wasSecret = wasSecret
            self.isSecret = isSecret
        }
    }

    /// A change.
    public init(
        suite: SuiteName, key: KeyName, old: JSONValue?, new: JSONValue?, oldSource: Source, source: Source,
        revision: Revision, modified: Timestamp, isSecret: Bool = false, record: Record = Record()
    ) {
        self.suite = suite
        self.key = key
        self.old = old
        self.new = new
        self.oldSource = oldSource
        self.source = source
        self.revision = revision
        self.modified = modified
        self.isSecret = isSecret
        self.record = record
    }
}

extension Change {
    /// What is stored under the key after the change, fitting or not; nil if nothing is.
    public var stored: JSONValue? {
        source == .stored ? new : record.rejected
    }

    /// What was stored under the key before the change, fitting or not; nil if nothing was.
    public var oldStored: JSONValue? {
        oldSource == .stored ? old : record.oldRejected
    }

    /// The change as it is told to somebody who may not read secrets: that it happened, without any value.
    public func concealed() -> Change {
        var change = self
        change.old = nil
        change.new = nil
        change.record = Record()
        change.isSecret = true
        change.isConcealed = true
        return change
    }

    /// This change and an earlier one of the same key told as one: from before the first to after the last.
    public func following(_ earlier: Change) -> Change {
        var change = self
        change.old = earlier.old
        change.oldSource = earlier.oldSource
        change.record.oldRejected = earlier.record.oldRejected
        change.record.oldRevision = earlier.record.oldRevision
        change.record.oldModified = earlier.record.oldModified
        change.record.wasSecret = earlier.record.wasSecret
        change.isSecret = isSecret || earlier.isSecret
        return isConcealed || earlier.isConcealed ? change.concealed() : change
    }
}

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

/// Where the effective value of a setting comes from.
public enum Source: Hashable, Sendable {
    /// Somebody stored it.
    case stored
    /// The schema's default holds.
    case `default`
    /// There is no value.
    case unset
    /// Something is stored, but it does not fit the schema: there is no value.
    case invalid
    /// A source of a newer server, by its name.
    case unknown(String)

    /// The source of this name; any name is one.
    public init(_ name: String) {
        switch name {
        case "stored": self = .stored
        case "default": self = .default
        case "unset": self = .unset
        case "invalid": self = .invalid
        default: self = .unknown(name)
        }
    }

    /// The name on the wire.
    public var name: String {
        switch self {
        case .stored: "stored"
        case .default: "default"
        case .unset: "unset"
        case .invalid: "invalid"
        case .unknown(let name): name
        }
    }

    /// Whether there is a value to read. A source that nobody knows here is judged as not readable.
    public var isReadable: Bool {
        switch self {
        case .stored, .default: true
        case .unset, .invalid, .unknown: false
        }
    }

    /// Whether something is stored, fitting or not.
    public var isStored: Bool {
        switch self {
        case .stored, .invalid: true
        case .default, .unset, .unknown: false
        }
    }
}

extension Source: CustomStringConvertible {
    /// The name on the wire.
    public var description: String {
        name
    }
}

extension Source: JSONReadable, JSONWritable {
    /// Reads any string.
    public init(json: JSONValue) throws(BodyError) {
        self.init(try BodyValue.string(json))
    }

    /// Writes the name as a string.
    public func write(to writer: inout JSONWriter) {
        writer.write(string: name)
    }
}
