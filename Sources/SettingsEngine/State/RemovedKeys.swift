package import SettingsAPI
internal import SettingsModel

/// The tombstones of one suite (a named set of settings). A tombstone is the record of a removed key that the schema
/// does not list.
///
/// A tombstone contains the revision (commit number) of the removal, so that a conditional write (`If-Match`) with an
/// earlier revision fails. The number of tombstones is limited. New tombstones enter the current *group*. When the
/// current group is full, it becomes the previous group, and the suite discards the tombstones of the old previous
/// group. ``unknownKeyRevision`` then rises to the highest discarded revision. As a result, a conditional write may
/// fail although the key was not changed, but it never succeeds if the key was changed.
package struct RemovedKeys: Sendable {
    /// The number of tombstones in a full group. A suite keeps at least its last 1,024 tombstones, and at most 2,048.
    static let groupCapacity = 1024

    private struct Group {
        var records = OrderedTree<KeyRecord>()
        var lastRevision = Revision.zero
        /// The approximate number of bytes of memory that the records take.
        var size = 0

        mutating func add(_ record: KeyRecord) {
            size += record.size - (records.set(record)?.size ?? 0)
            lastRevision = max(lastRevision, record.revision)
        }

        mutating func remove(_ name: Span<UInt8>) { size -= records.remove(name)?.size ?? 0 }
    }

    /// Both groups; nil before the first tombstone. The array always has one element, the pair of groups. Because the
    /// pair is in an array, a copy of the suite increments only one reference count.
    private var groups: [(current: Group, previous: Group)]?
    /// The revision of a key that has neither a record nor a tombstone.
    package private(set) var unknownKeyRevision: Revision

    package init(unknownKeyRevision: Revision) { self.unknownKeyRevision = unknownKeyRevision }

    /// Finds the tombstone of a key.
    package func find(_ name: Span<UInt8>) -> KeyRecord? {
        guard let groups else { return nil }
        return groups[0].current.records.find(name) ?? groups[0].previous.records.find(name)
    }

    /// Adds a tombstone. If the current group is full, begins a new group.
    package mutating func add(_ record: KeyRecord) {
        var (current, previous) = groups?.first ?? (Group(), Group())
        // Without the reference in `groups`, the suite can change the tombstones in place, unless a copy of the
        // suite shares them.
        groups = nil
        if current.records.count >= Self.groupCapacity {
            unknownKeyRevision = max(unknownKeyRevision, previous.lastRevision)
            (current, previous) = (Group(), current)
        }
        current.add(record)
        groups = [(current, previous)]
    }

    /// Removes the tombstone of a key that was written again.
    mutating func remove(_ key: KeyName) {
        guard groups != nil else { return }
        groups?[0].current.remove(key.text.utf8Span.span)
        groups?[0].previous.remove(key.text.utf8Span.span)
    }

    /// The approximate number of bytes of memory that the tombstones take.
    var size: Int { groups.map { $0[0].current.size + $0[0].previous.size } ?? 0 }

    /// All tombstones, in the order of the removals.
    package var records: [KeyRecord] {
        guard let groups else { return [] }
        return (groups[0].previous.records.elements + groups[0].current.records.elements).ordered {
            ($0.revision, $0.key) < ($1.revision, $1.key)
        }
    }
}
