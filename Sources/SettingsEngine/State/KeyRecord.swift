package import SettingsAPI
package import SettingsModel

/// The stored value of a key and the commit that last changed the key.
///
/// A suite has a record for each key with a value, and for each key that the schema lists and that was ever written. A state may have
/// millions of records, so a record repeats nothing that the schema says.
package struct KeyRecord: Equatable, TreeElement {
    /// A ``Source`` that this version knows, in one byte.
    package enum Standing: UInt8, Sendable {
        case stored, `default`, unset, invalid
    }

    package let key: KeyName
    /// The stored value, valid or not; nil if the key has none.
    package let stored: JSONValue?
    // The next three properties share one word of eight bytes. In another order a record takes 72 bytes instead of 64.
    package var standing: Standing
    /// True if the key was secret at any time since the value was written. The value then stays secret under any schema.
    package var isSecret: Bool
    /// The approximate size of the record, in four bytes. It is kept so that a large value need not be measured again when it is
    /// removed.
    private let size32: UInt32
    /// The last commit that changed the effective value, the source or the validity.
    package var revision: Revision
    /// The time of that commit.
    package var modified: Timestamp
    /// The origin of that commit. The record of a key without a value omits the note, so that removals take little memory.
    package var origin: CommitOrigin?

    /// The approximate number of bytes of memory that the record takes.
    var size: Int { Int(size32) }

    package var name: String { key.text }
    /// The time of the last change; nil if the key was never written.
    package var changeTime: Timestamp? { modified.milliseconds == 0 ? nil : modified }
}

/// The address of a key: its suite and its name.
struct KeyAddress: Hashable {
    let suite: SuiteName
    let key: KeyName
}

extension KeyRecord {
    package init(
        key: KeyName, stored: JSONValue?, standing: Standing, revision: Revision, modified: Timestamp,
        origin: CommitOrigin? = nil, isSecret: Bool = false
    ) {
        let origin = standing == .unset ? origin?.withoutNote : origin
        let size = MemorySize.setting(key) + (stored?.memorySize ?? 0) + (origin?.memorySize ?? 0)
        self.init(
            key: key, stored: stored, standing: standing, isSecret: isSecret, size32: UInt32(clamping: size),
            revision: revision, modified: modified, origin: origin)
    }

    /// Makes the record of a key that has no value.
    init(unset key: KeyName, revision: Revision, modified: Timestamp? = nil) {
        self.init(
            key: key, stored: nil, standing: .unset, revision: revision,
            modified: modified ?? Timestamp(milliseconds: 0))
    }
}

extension Change.Record {
    /// Makes the part of a change that describes the replaced record.
    ///
    /// Inlined, because the compiler would otherwise copy a borrowed record.
    @inline(__always)
    init(before: KeyRecord, rejected: JSONValue? = nil, isSecret: Bool) {
        self.init(
            oldRejected: before.standing == .invalid ? before.stored : nil, rejected: rejected,
            oldRevision: before.revision == .zero ? nil : before.revision, oldModified: before.changeTime,
            wasSecret: before.isSecret, isSecret: isSecret)
    }
}

extension KeyRecord.Standing {
    /// Makes the standing of a source; nil for a source that only a newer version knows.
    package init?(_ source: Source) {
        switch source {
        case .stored: self = .stored
        case .default: self = .default
        case .unset: self = .unset
        case .invalid: self = .invalid
        case .unknown: return nil
        }
    }

    /// The name on the wire.
    package var source: Source {
        switch self {
        case .stored: .stored
        case .default: .default
        case .unset: .unset
        case .invalid: .invalid
        }
    }
}
