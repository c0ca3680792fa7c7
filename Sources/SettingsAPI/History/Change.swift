public import SettingsModel

/// A record of what one commit did to one key. The journal, watchers and clients share it.
///
/// Values are effective ones: removing a key reports the default as `new`, or none with the source ``Source/unset``.
public struct Change: Equatable, Sendable {
    /// The suite of the key.
    public var suite: SuiteName
    /// The key.
    public var key: KeyName
    /// The effective value before; nil if there was none, or if it is concealed.
    public var old: JSONValue?
    /// The effective value after; nil if there is none, or if it is concealed.
    public var new: JSONValue?
    /// The source of `old`.
    public var oldSource: Source
    /// The source of `new`.
    public var source: Source
    /// The commit.
    public var revision: Revision
    /// The time of the commit.
    public var modified: Timestamp
    /// True if the key is a secret, or was one at the time.
    public var isSecret: Bool
    /// True if the values were taken out, for a reader that may not read secrets.
    public internal(set) var isConcealed: Bool

    /// The caller that made the change, and the reason that it gave.
    package var origin: CommitOrigin?
    /// What undoes the change, and repeats the first answer to a request.
    package var record: Record

    /// The part of a change that the wire does not show.
    package struct Record: Equatable, Sendable {
        /// The stored value before the change if the schema did not allow it; otherwise nil: see ``Change/oldStored``.
        package var oldInvalidValue: JSONValue?
        /// The stored value after the change if the schema does not allow it; otherwise nil: see ``Change/stored``.
        package var invalidValue: JSONValue?
        /// The revision of the setting before.
        package var oldRevision: Revision?
        /// The time of that revision.
        package var oldModified: Timestamp?
        /// True if the value stored before was a secret, whatever the schema says.
        package var wasSecret: Bool
        /// True if the stored value is a secret, whatever the schema says.
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
    /// By the memberwise initialiser: an assignment for each member would make the change in one place and copy it to another.
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
    /// The reason that the caller gave; nil if it gave none.
    public var note: String? { origin?.note }

    /// The value stored after the change, valid or not.
    package var stored: JSONValue? {
        source == .stored ? new : record.invalidValue
    }

    /// The value stored before the change, valid or not.
    package var oldStored: JSONValue? {
        oldSource == .stored ? old : record.oldInvalidValue
    }

    /// True if the change was read from a line of a journal that leaves out the stored value before it.
    package var lacksOld: Bool {
        oldSource == .stored && old == nil && !isConcealed
    }

    /// Returns the change without values, for a reader that may not read secrets.
    package func concealed() -> Change {
        var change = self
        change.old = nil
        change.new = nil
        change.record = Record()
        change.isSecret = true
        change.isConcealed = true
        return change
    }

    /// Merges this change with an earlier one of the same key: from before the first to after the last.
    package func following(_ earlier: Change) -> Change {
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
    /// A form of a change, by what the JSON around it says already.
    package enum Form: Equatable, Sendable {
        /// For watchers of one suite: without the name of the suite.
        case ofOneSuite
        /// For watchers of several suites and answers to transactions.
        case ofSeveralSuites
        /// For a commit in a file: with the record, without revision and time, which the commit has once for all, and without
        /// the source of what is stored.
        case ofCommit
        /// For a line of a journal: as `ofCommit`, but without a stored value that the change replaces and without its
        /// revision and time. A replay takes them from the state.
        case ofJournal
    }

    package func write(to writer: inout JSONWriter) {
        write(to: &writer, as: .ofSeveralSuites)
    }

    /// Writes one of the forms. A concealed change, which lacks its values, is not to be written to a file.
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

    /// Reads a change of a suite that is known already. Throws if the change names another suite.
    package init(json: JSONValue, ofSuite suite: SuiteName) throws(BodyError) {
        let reader = try ObjectReader(json)
        let named: SuiteName? = try reader.optional("suite")
        guard named == nil || named == suite else {
            throw BodyError("must be \(suite) (got another suite)").inMember("suite")
        }
        try self.init(
            reader, suite: suite, revision: reader.required("revision"), modified: reader.required("modified"))
        origin = try .read(reader)
    }

    /// Reads the forms of commits and journals.
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
        _ name: String, in reader: ObjectReader, ifMissing usual: Source?
    ) throws(BodyError) -> Source {
        if let usual, !reader.has(name) { return usual }
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

    /// Writes a change of a span in place. Passing it on would copy it, which retains all that it refers to.
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
            members(of: changes[index].origin)
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
        // Mostly it follows from the mark.
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
    /// The stored value does not match the schema, so there is no value.
    case invalid
    /// A source of a newer server, by its name.
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

    /// True if there is a value to read.
    public var isReadable: Bool {
        self == .stored || self == .default
    }

    /// True if something is stored, valid or not.
    public var isStored: Bool {
        self == .stored || self == .invalid
    }

    /// The name on the wire.
    public var description: String {
        name
    }
}

extension Source: JSONText {
    package static let expectedText = "a source"

    /// Writes the name; that of nearly all settings as one that has no byte to escape.
    package func write(to writer: inout JSONWriter) {
        if case .stored = self { writer.write(literal: "stored") } else { writer.write(string: name) }
    }
}

extension ObjectReader {
    /// Reads the value of a setting with a known source: null means no value, unless the source has one.
    func effectiveValue(_ name: String, _ source: Source) -> JSONValue? {
        guard let value = object[name], !value.isNull || source.isReadable else { return nil }
        return value
    }
}
