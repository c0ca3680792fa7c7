package import SettingsAPI
package import SettingsModel

/// A record of one key: what is stored, and since when it stands so.
///
/// There is one for each key with a value, and for each that the schema lists and that ever changed. There may be
/// millions, so nothing is repeated here that the schema says.
package struct KeyRecord: Equatable, TreeElement {
    /// The ``Source`` of a value without the names of newer servers, in one byte.
    package enum Standing: UInt8, Sendable {
        case stored, `default`, unset, invalid
    }

    package let key: KeyName
    /// The stored value, valid or not.
    package let stored: JSONValue?
    // These three fill the word behind the value. In another order a record takes 72 bytes.
    package var standing: Standing
    /// True if what is stored is a secret whatever the schema says now: it was one since it was written.
    package var isSecret: Bool
    /// About the bytes that the record takes, in four bytes: a large value is not to be measured again when it goes.
    private let size32: UInt32
    /// The last commit that changed the effective value, the source or the validity.
    package var revision: Revision
    /// The time of that commit.
    package var modified: Timestamp
    /// The origin of that commit; of a key without a value without its note, so that removing takes little memory.
    package var origin: CommitOrigin?

    /// About the bytes that the record takes.
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
    /// By the memberwise initialiser: an assignment for each member would make the record in one place and copy it to another.
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

    /// A record of a key that has no value.
    init(unset key: KeyName, revision: Revision, modified: Timestamp? = nil) {
        self.init(
            key: key, stored: nil, standing: .unset, revision: revision,
            modified: modified ?? Timestamp(milliseconds: 0))
    }
}

extension Change.Record {
    /// Inlined, so that a borrowed record is not copied.
    ///
    /// - Parameter before: the record of the key that the change replaces.
    @inline(__always)
    init(before: KeyRecord, rejected: JSONValue? = nil, isSecret: Bool) {
        self.init(
            oldRejected: before.standing == .invalid ? before.stored : nil, rejected: rejected,
            oldRevision: before.revision == .zero ? nil : before.revision, oldModified: before.changeTime,
            wasSecret: before.isSecret, isSecret: isSecret)
    }
}

extension KeyRecord.Standing {
    /// The standing that a source names; nil for one of a newer server, which no journal of this one holds.
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

/// A bounded memory of the tombstones of keys that are neither stored nor listed by a schema.
///
/// A guard made before a removal must not hold after it, so the revision of a removal is kept. When one is dropped,
/// ``floor`` rises to it, which is then the revision of every key that is not here: a guard may fail without need, but
/// never hold wrongly.
package struct RemovedKeys: Sendable {
    /// The number of removals that are kept at least. At most twice as many are.
    static let generation = 1024

    private struct Generations: Sendable {
        var recent = OrderedTree<KeyRecord>()
        var earlier = OrderedTree<KeyRecord>()
        var lastRecent = Revision.zero
        var lastEarlier = Revision.zero
        var sizeOfRecent = 0
        var sizeOfEarlier = 0

        /// Adds a tombstone. Returns the last revision of those that were dropped for it, if any were.
        mutating func add(_ record: KeyRecord) -> Revision? {
            let dropped = recent.count >= RemovedKeys.generation ? lastEarlier : nil
            if dropped != nil {
                (earlier, lastEarlier, sizeOfEarlier) = (recent, lastRecent, sizeOfRecent)
                (recent, sizeOfRecent) = (OrderedTree(), 0)
            }
            sizeOfRecent += record.size - (recent.set(record)?.size ?? 0)
            lastRecent = max(lastRecent, record.revision)
            return dropped
        }

        mutating func remove(_ name: Span<UInt8>) {
            sizeOfRecent -= recent.remove(name)?.size ?? 0
            sizeOfEarlier -= earlier.remove(name)?.size ?? 0
        }
    }

    /// The tombstones, in an array so that a copy retains one object; nil in the many suites that never had any.
    private var kept: [Generations]?
    /// The revision of a key that was never here, or whose tombstone was dropped.
    package private(set) var floor: Revision

    package init(floor: Revision) {
        self.floor = floor
    }

    /// Finds the tombstone of a key.
    package func find(_ name: Span<UInt8>) -> KeyRecord? {
        guard let kept else { return nil }
        return kept[0].recent.find(name) ?? kept[0].earlier.find(name)
    }

    package mutating func add(_ record: KeyRecord) {
        if kept == nil { kept = [Generations()] }
        if let dropped = kept?[0].add(record) { floor = max(floor, dropped) }
    }

    /// Removes the tombstone of a key that is back.
    mutating func remove(_ key: KeyName) {
        kept?[0].remove(key.text.utf8Span.span)
    }

    /// About the bytes that the tombstones take.
    var size: Int { kept.map { $0[0].sizeOfRecent + $0[0].sizeOfEarlier } ?? 0 }

    /// All tombstones, the oldest first.
    package var records: [KeyRecord] {
        guard let kept else { return [] }
        return (kept[0].earlier.elements + kept[0].recent.elements).ordered {
            ($0.revision, $0.key) < ($1.revision, $1.key)
        }
    }
}
