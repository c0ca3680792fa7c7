package import SettingsAPI
package import SettingsModel

/// The stored value of a key, and the revision (number), the time and the origin (the caller and its reason) of the
/// last commit that changed the key. A commit changes a key if it changes the stored value, or the effective value
/// (the value that readers get) or its source. For example, a new schema can change the default.
///
/// A suite (a named set of settings) stores a record for each key with a value or a default, and for each key that the
/// schema lists and that was ever written. There may be millions of records, so a record does not repeat data of the
/// schema, such as default values.
package struct KeyRecord: Equatable, TreeElement {
    /// The source of the effective value. Unlike ``Source`` in the API, this type has only the sources that this
    /// version of the program knows, and takes one byte. `invalid` means that the schema does not allow the stored
    /// value, so readers get no value.
    package enum ValueSource: UInt8, Sendable {
        case stored, `default`, unset, invalid
    }

    package let key: KeyName
    /// The stored value, even if the schema does not allow it; nil if the key has no stored value.
    package let stored: JSONValue?
    // The next three properties share one word of eight bytes. In another order, a record takes 72 bytes instead of 64.
    package var valueSource: ValueSource
    /// True if the schema at the time of the write, or a later schema, declared the key secret. The value then stays
    /// secret under all later schemas.
    package var isSecret: Bool
    /// The value of ``size``, in four bytes. The record stores its size, so that the daemon need not compute the size
    /// again when it removes a large value.
    private let size32: UInt32
    /// The revision of the last commit that changed the key. If this commit is not known, the value is an upper bound
    /// of its revision.
    package var revision: Revision
    /// The time of the last commit that changed the key; zero if this commit is not known. See ``changeTime``.
    package var modified: Timestamp
    /// The caller that made the last commit that changed the key, and the reason (`note`) that the caller gave. The
    /// record of a key without a value omits the note, so that removals take little memory.
    package var origin: CommitOrigin?

    /// The approximate number of bytes of memory that the record takes.
    var size: Int { Int(size32) }

    package var name: String { key.text }
    /// The value of ``modified``; nil if no commit that changed the key is known.
    package var changeTime: Timestamp? { modified.milliseconds == 0 ? nil : modified }
}

/// The full name of a key: its suite, and its name in the suite.
struct KeyAddress: Hashable {
    let suite: SuiteName
    let key: KeyName
}

extension KeyRecord {
    package init(
        key: KeyName, stored: JSONValue?, valueSource: ValueSource, revision: Revision, modified: Timestamp,
        origin: CommitOrigin? = nil, isSecret: Bool = false
    ) {
        let origin = valueSource == .unset ? origin?.withoutNote : origin
        let size = MemorySize.setting(key) + (stored?.memorySize ?? 0) + (origin?.memorySize ?? 0)
        self.init(
            key: key, stored: stored, valueSource: valueSource, isSecret: isSecret, size32: UInt32(clamping: size),
            revision: revision, modified: modified, origin: origin)
    }

    /// Makes the record of a key that has no value, also for a key of which the suite stores no record. `modified` is
    /// nil if the key was never written, or if the commit that removed the value is not known.
    init(unset key: KeyName, revision: Revision, modified: Timestamp? = nil) {
        self.init(
            key: key, stored: nil, valueSource: .unset, revision: revision,
            modified: modified ?? Timestamp(milliseconds: 0))
    }
}

extension Change.Record {
    /// Makes the part of a change that an undo needs, from the record before the change. `invalidValue` is the new
    /// stored value if the schema does not allow this value; otherwise nil. `isSecret` is true if the new value stays
    /// secret under any schema.
    ///
    /// Inlined, because otherwise the compiler copies the borrowed record.
    @inline(__always)
    init(before: KeyRecord, invalidValue: JSONValue? = nil, isSecret: Bool) {
        self.init(
            oldInvalidValue: before.valueSource == .invalid ? before.stored : nil, invalidValue: invalidValue,
            oldRevision: before.revision == .zero ? nil : before.revision, oldModified: before.changeTime,
            wasSecret: before.isSecret, isSecret: isSecret)
    }
}

extension KeyRecord.ValueSource {
    /// Converts a source of the API. Returns nil for a source that this version does not know.
    package init?(_ source: Source) {
        switch source {
        case .stored: self = .stored
        case .default: self = .default
        case .unset: self = .unset
        case .invalid: self = .invalid
        case .unknown: return nil
        }
    }

    /// The corresponding source in the API.
    package var source: Source {
        switch self {
        case .stored: .stored
        case .default: .default
        case .unset: .unset
        case .invalid: .invalid
        }
    }
}
