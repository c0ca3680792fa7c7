package import SettingsAPI
internal import SettingsModel

/// A bounded memory of keys that nothing describes any more: not stored, not listed by a schema.
///
/// Their revisions must not be forgotten at once, or a guard made before a removal could hold after it. What falls out
/// of memory raises ``floor``, the revision of every key that is not remembered: a comparison with it may then fail
/// needlessly, but never succeed wrongly.
package struct RemovedKeys: Sendable {
    /// How many removals are remembered at least; at most twice as many.
    static let generation = 1024

    private var recent = OrderedTree<KeyRecord>()
    private var earlier = OrderedTree<KeyRecord>()
    private var lastRecent = Revision.zero
    private var lastEarlier = Revision.zero
    /// The revision of a key that was never here, or whose removal was forgotten.
    package private(set) var floor: Revision

    package init(floor: Revision) {
        self.floor = floor
    }

    /// The record of a removed key, if it is still remembered.
    package func find(_ name: Span<UInt8>) -> KeyRecord? {
        recent.find(name) ?? earlier.find(name)
    }

    /// Remembers a removal.
    package mutating func add(_ record: KeyRecord) {
        if recent.count >= Self.generation {
            floor = max(floor, lastEarlier)
            (earlier, lastEarlier) = (recent, lastRecent)
            recent = OrderedTree()
        }
        recent.set(record)
        lastRecent = max(lastRecent, record.revision)
    }

    /// Forgets a key that is back.
    mutating func remove(_ key: KeyName) {
        guard !recent.isEmpty || !earlier.isEmpty else { return }
        recent.remove(key.text)
        earlier.remove(key.text)
    }

    /// All that is remembered, older removals first.
    package var records: [KeyRecord] {
        (earlier.elements + recent.elements).sorted { ($0.revision, $0.key) < ($1.revision, $1.key) }
    }
}
