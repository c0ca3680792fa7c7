package import SettingsModel

/// The identifier of a pending action, such as `p51`: the revision of the commit that created the action.
package struct PendingID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let revision: Revision

    package init(_ revision: Revision) { self.revision = revision }

    /// Reads a text such as `p51`; nil for any other text.
    package init?(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "p"), let revision = Revision(text.dropFirst()) else { return nil }
        self.revision = revision
    }

    package static func < (left: PendingID, right: PendingID) -> Bool { left.revision < right.revision }

    package var description: String { "p\(revision)" }
}

extension PendingID: JSONText {
    package static let expectedText = "the identifier of a pending action, such as p51"
}

/// An action that the daemon will carry out at a deadline: it reverts a commit, or carries out a scheduled write.
package struct PendingAction: Equatable, Sendable {
    /// The kind of the deadline, which is the field of the request that created the action.
    package enum Kind: String, CaseIterable, Sendable {
        /// `Settings-Confirm`: the commit is reverted unless a client confirms it. A running daemon measures the time
        /// with the monotonic clock.
        case confirm
        /// `Settings-Until`: the commit is reverted at an instant.
        case until
        /// `Settings-Effective`: the write is carried out at an instant.
        case effective
    }

    package let id: PendingID
    package var kind: Kind
    package private(set) var deadline: Timestamp
    /// The milliseconds from the time of the commit that set the deadline to the deadline.
    package private(set) var period: Int64
    package let created: Timestamp
    /// The caller that created the action, and the note of its request.
    package let origin: CommitOrigin?
    /// The settings and schemas that the action concerns.
    package var scopes: [PendingScope]
    /// The revision of the commit that the action reverts; nil for a scheduled write.
    package var commit: Revision?
    /// The write that the action carries out; nil for a revert, and in the event that ends the action.
    package var write: ScheduledWrite?
    /// The instant at which the commit of the scheduled write is to be reverted; nil if it stays in effect.
    package var until: Timestamp?

    /// Makes the action that a commit with this revision and time creates.
    package init(
        createdBy revision: Revision, at time: Timestamp, kind: Kind, deadline: Timestamp, origin: CommitOrigin?,
        scopes: [PendingScope], commit: Revision? = nil, write: ScheduledWrite? = nil, until: Timestamp? = nil
    ) {
        id = PendingID(revision)
        self.kind = kind
        self.deadline = deadline
        period = deadline.milliseconds - time.milliseconds
        created = time
        self.origin = origin
        self.scopes = scopes
        self.commit = commit
        self.write = write
        self.until = until
    }

    /// Sets another deadline. `time` is the time of the commit that sets it.
    package mutating func move(to deadline: Timestamp, at time: Timestamp) {
        self.deadline = deadline
        period = max(0, deadline.milliseconds - time.milliseconds)
    }
}

extension PendingAction: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        id = try reader.required("id")
        kind = try reader.required("kind")
        deadline = try reader.required("deadline")
        period = try reader.required("period")
        created = try reader.required("created")
        origin = try .read(reader)
        scopes = try reader.list("suites")
        commit = try reader.optional("commit")
        write = try reader.optional("write")
        until = try reader.optional("until")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("kind", kind.rawValue)
        writer.member("deadline", deadline)
        writer.member("period", period)
        writer.member("created", created)
        writer.members(byAndNote: origin)
        writer.member("suites", scopes)
        writer.member("commit", commit)
        writer.member("write", write)
        writer.member("until", until)
    }
}

extension PendingAction.Kind: BodyWord {}

/// A part of a suite that a pending action concerns: some keys, the keys with a prefix, or the whole suite.
package struct PendingScope: Equatable, Sendable {
    package let suite: SuiteName
    /// The keys; nil if the action concerns the keys with the prefix or, without a prefix, the whole suite.
    package var keys: [KeyName]?
    package var prefix: String?
    /// True if the action concerns the schema or the existence of the suite.
    package var concernsSchema: Bool

    package init(_ suite: SuiteName, keys: [KeyName]? = nil, prefix: String? = nil, concernsSchema: Bool = false) {
        self.suite = suite
        self.keys = keys
        self.prefix = prefix
        self.concernsSchema = concernsSchema
    }
}

extension PendingScope: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            try reader.required("suite"), keys: try reader.optional("keys"), prefix: try reader.optional("prefix"),
            concernsSchema: try reader.flag("schema"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("keys", keys)
        writer.member("prefix", prefix)
        writer.flag("schema", concernsSchema)
    }
}

/// A setting or a schema that a revert did not restore.
package struct KeptSetting: Equatable, Sendable {
    package let suite: SuiteName
    /// The key; nil for the schema of the suite.
    package let key: KeyName?
    package let reason: String

    package init(suite: SuiteName, key: KeyName?, reason: String) {
        self.suite = suite
        self.key = key
        self.reason = reason
    }
}

extension KeptSetting: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(
            suite: try reader.required("suite"), key: try reader.optional("key"),
            reason: try reader.required("reason"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("key", key)
        writer.flag("schema", key == nil)
        writer.member("reason", reason)
    }
}
