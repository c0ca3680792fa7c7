public import SettingsModel

/// The change of one setting by one commit. Journals, watchers and clients use this type.
///
/// The values are effective values: after the removal of a stored value, `new` is the default, or nil with the source
/// ``Source/unset``.
public struct Change: Equatable, Sendable {
    /// The suite of the key.
    public var suite: SuiteName
    /// The key.
    public var key: KeyName
    /// The effective value before the change; nil if there was none, or if it is concealed.
    public var old: JSONValue?
    /// The effective value after the change; nil if there is none, or if it is concealed.
    public var new: JSONValue?
    /// The source of `old`.
    public var oldSource: Source
    /// The source of `new`.
    public var source: Source
    /// The revision of the commit.
    public var revision: Revision
    /// The time of the commit.
    public var modified: Timestamp
    /// True if the key is a secret, or was a secret before the change.
    public var isSecret: Bool
    /// True if the values were removed because the reader may not read secrets.
    public internal(set) var isConcealed: Bool

    /// The caller that made the change, and the note.
    package var origin: CommitOrigin?
    /// Data for undoing the change, and for repeating the answer to the write.
    package var record: Record

    /// The part of a change that the HTTP API does not show.
    package struct Record: Equatable, Sendable {
        /// The stored value before the change if the schema did not allow it; otherwise nil. See ``Change/oldStored``.
        package var oldInvalidValue: JSONValue?
        /// The stored value after the change if the schema does not allow it; otherwise nil. See ``Change/stored``.
        package var invalidValue: JSONValue?
        /// The revision of the setting before the change.
        package var oldRevision: Revision?
        /// The time of the change before this change.
        package var oldModified: Timestamp?
        /// True if the stored value before the change was marked as a secret. The mark stays when the schema changes.
        package var wasSecret: Bool
        /// True if the stored value is marked as a secret. The mark stays when the schema changes.
        package var isSecret: Bool

        package init(
            oldInvalidValue: JSONValue? = nil, invalidValue: JSONValue? = nil, oldRevision: Revision? = nil,
            oldModified: Timestamp? = nil, wasSecret: Bool = false, isSecret: Bool = false
        ) {
            self.oldInvalidValue = oldInvalidValue
            self.invalidValue = invalidValue
            self.oldRevision = oldRevision
            self.oldModified = oldModified
            self.wasSecret = wasSecret
            self.isSecret = isSecret
        }
    }
}

extension Change {
    /// Initialises all stored properties with one expression. With one assignment for each property, the compiler would
    /// build the change in a temporary and copy it.
    package init(
        suite: SuiteName, key: KeyName, old: JSONValue?, new: JSONValue?, oldSource: Source, source: Source,
        revision: Revision, modified: Timestamp, isSecret: Bool = false, origin: CommitOrigin? = nil,
        record: Record = Record()
    ) {
        self.init(
            suite: suite, key: key, old: old, new: new, oldSource: oldSource, source: source, revision: revision,
            modified: modified, isSecret: isSecret, isConcealed: false, origin: origin, record: record)
    }
}

extension Change {
    /// The name of the caller that made the change; nil if it is not known.
    public var by: String? { origin?.by }
    /// The note of the caller; nil if the request had no note.
    public var note: String? { origin?.note }

    /// The stored value after the change, valid or not.
    package var stored: JSONValue? {
        source == .stored ? new : record.invalidValue
    }

    /// The stored value before the change, valid or not.
    package var oldStored: JSONValue? {
        oldSource == .stored ? old : record.oldInvalidValue
    }

    /// True if the change was read from a journal line that omits the stored value before the change.
    package var lacksOldValue: Bool {
        oldSource == .stored && old == nil && !isConcealed
    }

    /// Returns the change without its values, for a reader that may not read secrets.
    package func concealed() -> Change {
        var change = self
        change.old = nil
        change.new = nil
        change.record = Record()
        change.isSecret = true
        change.isConcealed = true
        return change
    }

    /// Returns one change that combines an earlier change of the same key and this change.
    package func merged(withEarlier earlier: Change) -> Change {
        var change = self
        change.old = earlier.old
        change.oldSource = earlier.oldSource
        change.record.oldInvalidValue = earlier.record.oldInvalidValue
        change.record.oldRevision = earlier.record.oldRevision
        change.record.oldModified = earlier.record.oldModified
        change.record.wasSecret = earlier.record.wasSecret
        change.isSecret = isSecret || earlier.isSecret
        return isConcealed || earlier.isConcealed ? change.concealed() : change
    }
}

extension Change: JSONReadable, JSONWritable {
    /// The JSON forms of a change. They differ in the members that the surrounding JSON already contains.
    package enum Form: Equatable, Sendable {
        /// For watchers of one suite: without the name of the suite.
        case ofOneSuite
        /// For watchers of several suites, and for answers to transactions.
        case ofSeveralSuites
        /// For a commit in a file: with ``Change/record``, without the revision and the time of the commit, and
        /// without a source that is `stored`.
        case ofCommit
        /// For a line of a journal: like `ofCommit`, but if the source of the replaced value is `stored`, without this
        /// value, its revision, its time and its mark as a secret. A replay takes the omitted members from the state.
        case ofJournal
    }

    package func write(to writer: inout JSONWriter) {
        write(to: &writer, as: .ofSeveralSuites)
    }

    /// Writes one of the forms. A concealed change must not be written to a file, because it lacks its values.
    package func write(to writer: inout JSONWriter, as form: Form) {
        let changes = [self]
        writer.write(changes.span, at: 0, as: form)
    }

    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        try self.init(
            reader, suite: reader.required("suite"), revision: reader.required("revision"),
            modified: reader.required("modified"))
        origin = try .read(reader)
    }

    /// Reads a change of the given suite. Throws if the change names another suite.
    package init(json: JSONValue, ofSuite suite: SuiteName) throws(BodyError) {
        let reader = try ObjectReader(json)
        let namedSuite: SuiteName? = try reader.optional("suite")
        guard namedSuite == nil || namedSuite == suite else {
            throw BodyError("must be \(suite) (got another suite)").inMember("suite")
        }
        try self.init(
            reader, suite: suite, revision: reader.required("revision"), modified: reader.required("modified"))
        origin = try .read(reader)
    }

    /// Reads the forms for commits and for journals.
    init(
        json: JSONValue, ofCommit revision: Revision, at time: Timestamp, by origin: CommitOrigin?
    ) throws(BodyError) {
        let reader = try ObjectReader(json)
        try self.init(
            reader, suite: reader.required("suite"), revision: revision, modified: time, sourceIfMissing: .stored)
        self.origin = origin
        record = Record(
            oldInvalidValue: try reader.optional("oldStored"), invalidValue: try reader.optional("stored"),
            oldRevision: try reader.optional("oldRevision"), oldModified: try reader.optional("oldModified"))
        record.wasSecret = try reader.optional("oldSecret") ?? (isSecret && oldStored != nil)
        record.isSecret = try reader.optional("newSecret") ?? (isSecret && stored != nil)
    }

    private init(
        _ reader: ObjectReader, suite: SuiteName, revision: Revision, modified: Timestamp,
        sourceIfMissing: Source? = nil
    ) throws(BodyError) {
        let isConcealed = !reader.has("old") && !reader.has("new")
        let isMarked = try reader.flag("secret")
        let oldSource = try Self.source("oldSource", in: reader, ifMissing: sourceIfMissing)
        let source = try Self.source("source", in: reader, ifMissing: sourceIfMissing)
        self.init(
            suite: suite, key: try reader.required("key"), old: reader.effectiveValue("old", oldSource),
            new: reader.effectiveValue("new", source), oldSource: oldSource, source: source, revision: revision,
            modified: modified, isSecret: isConcealed || isMarked)
        self.isConcealed = isConcealed
    }

    private static func source(
        _ name: String, in reader: ObjectReader, ifMissing fallback: Source?
    ) throws(BodyError) -> Source {
        if let fallback, !reader.has(name) { return fallback }
        return try reader.required(name)
    }
}

extension JSONWriter {
    mutating func member(_ name: StaticString, _ changes: [Change], as form: Change.Form) {
        self.name(literal: name)
        beginArray()
        let changes = changes.span
        for index in changes.indices { write(changes, at: index, as: form) }
        endArray()
    }

    /// Writes one element of a `Span` of changes. Passing the change as a value would copy the change, and retain every
    /// object that the change refers to.
    fileprivate mutating func write(_ changes: Span<Change>, at index: Int, as form: Change.Form) {
        beginObject()
        if form != .ofOneSuite { member("suite", changes[index].suite) }
        member("key", changes[index].key)
        switch form {
        case .ofOneSuite, .ofSeveralSuites:
            if !changes[index].isConcealed {
                member("old", changes[index].old ?? .null)
                member("new", changes[index].new ?? .null)
            }
            member("oldSource", changes[index].oldSource)
            member("source", changes[index].source)
            member("revision", changes[index].revision)
            member("modified", changes[index].modified)
            members(byAndNote: changes[index].origin)
        case .ofCommit, .ofJournal:
            let replacesStored = changes[index].oldSource == .stored
            if form == .ofCommit || !replacesStored { writeOld(changes, at: index) }
            member("new", changes[index].new ?? .null)
            if changes[index].source != .stored { member("source", changes[index].source) }
            member("stored", changes[index].record.invalidValue)
            let (isStored, isSecret) = (changes[index].stored != nil, changes[index].record.isSecret)
            if isSecret != (changes[index].isSecret && isStored) { member("newSecret", isSecret) }
        }
        flag("secret", changes[index].isSecret)
        endObject()
    }

    private mutating func writeOld(_ changes: Span<Change>, at index: Int) {
        member("old", changes[index].old ?? .null)
        if changes[index].oldSource != .stored { member("oldSource", changes[index].oldSource) }
        member("oldStored", changes[index].record.oldInvalidValue)
        member("oldRevision", changes[index].record.oldRevision)
        member("oldModified", changes[index].record.oldModified)
        // If the member `oldSecret` is missing, `init(json:ofCommit:at:by:)` assumes that the stored value of a secret
        // is marked as a secret. The member is needed only if the mark differs. The same applies to `newSecret`.
        let (wasStored, wasSecret) = (changes[index].oldStored != nil, changes[index].record.wasSecret)
        if wasSecret != (changes[index].isSecret && wasStored) { member("oldSecret", wasSecret) }
    }
}

/// The source of an effective value.
public enum Source: Hashable, Sendable, CustomStringConvertible {
    /// The value is stored.
    case stored
    /// The value is the schema's default.
    case `default`
    /// There is no value.
    case unset
    /// The schema does not allow the stored value, so there is no effective value.
    case invalid
    /// A source that this version does not know, with its name.
    case unknown(String)

    package init(_ name: String) {
        switch name {
        case "stored": self = .stored
        case "default": self = .default
        case "unset": self = .unset
        case "invalid": self = .invalid
        default: self = .unknown(name)
        }
    }

    /// The name in JSON.
    public var name: String {
        switch self {
        case .stored: "stored"
        case .default: "default"
        case .unset: "unset"
        case .invalid: "invalid"
        case .unknown(let name): name
        }
    }

    /// True if there is an effective value.
    public var isReadable: Bool {
        self == .stored || self == .default
    }

    /// True if a value is stored, valid or not.
    public var isStored: Bool {
        self == .stored || self == .invalid
    }

    /// The name in JSON.
    public var description: String {
        name
    }
}

extension Source: JSONText {
    package static let expectedText = "a source"

    /// Writes the name. For the source `stored`, the writer need not look for characters to escape.
    package func write(to writer: inout JSONWriter) {
        if case .stored = self { writer.write(literal: "stored") } else { writer.write(string: name) }
    }
}

extension ObjectReader {
    /// Reads the value of a setting with a known source. For a source without a value, JSON null means that there is no
    /// value.
    func effectiveValue(_ name: String, _ source: Source) -> JSONValue? {
        guard let value = object[name], !value.isNull || source.isReadable else { return nil }
        return value
    }
}
