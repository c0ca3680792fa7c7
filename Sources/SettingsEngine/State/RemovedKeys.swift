package import SettingsAPI
internal import SettingsModel

/// The tombstones of removed keys of one suite that the schema does not list.
///
/// A tombstone keeps the revision of the removal, so that a guard from before the removal fails. The number of tombstones is limited.
/// When tombstones are discarded, ``unknownKeyRevision`` rises to their highest revision and becomes the revision of every key without
/// a record. A guard may then fail without need, but it never holds wrongly.
package struct RemovedKeys: Sendable {
    /// The number of removals that are kept at least. At most twice as many are kept.
    static let generationSize = 1024

    private struct Generation {
        var records = OrderedTree<KeyRecord>()
        var lastRevision = Revision.zero
        var size = 0

        mutating func add(_ record: KeyRecord) {
            size += record.size - (records.set(record)?.size ?? 0)
            lastRevision = max(lastRevision, record.revision)
        }

        mutating func remove(_ name: Span<UInt8>) {
            size -= records.remove(name)?.size ?? 0
        }
    }

    /// The current and the previous generation, in an array so that a copy of the suite retains one object. Nil in a suite that never
    /// had a tombstone.
    private var generations: [(current: Generation, previous: Generation)]?
    /// The revision of a key that has neither a record nor a tombstone.
    package private(set) var unknownKeyRevision: Revision

    package init(unknownKeyRevision: Revision) {
        self.unknownKeyRevision = unknownKeyRevision
    }

    /// Finds the tombstone of a key.
    package func find(_ name: Span<UInt8>) -> KeyRecord? {
        guard let generations else { return nil }
        return generations[0].current.records.find(name) ?? generations[0].previous.records.find(name)
    }

    /// Adds a tombstone. Discards the previous generation if the current generation is full.
    package mutating func add(_ record: KeyRecord) {
        var (current, previous) = generations?.first ?? (Generation(), Generation())
        generations = nil
        if current.records.count >= Self.generationSize {
            unknownKeyRevision = max(unknownKeyRevision, previous.lastRevision)
            (current, previous) = (Generation(), current)
        }
        current.add(record)
        generations = [(current, previous)]
    }

    /// Removes the tombstone of a key that was written again.
    mutating func remove(_ key: KeyName) {
        guard generations != nil else { return }
        generations?[0].current.remove(key.text.utf8Span.span)
        generations?[0].previous.remove(key.text.utf8Span.span)
    }

    /// The approximate number of bytes of memory that the tombstones take.
    var size: Int { generations.map { $0[0].current.size + $0[0].previous.size } ?? 0 }

    /// All tombstones, the oldest first.
    package var records: [KeyRecord] {
        guard let generations else { return [] }
        return (generations[0].previous.records.elements + generations[0].current.records.elements).ordered {
            ($0.revision, $0.key) < ($1.revision, $1.key)
        }
    }
}
