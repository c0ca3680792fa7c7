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
