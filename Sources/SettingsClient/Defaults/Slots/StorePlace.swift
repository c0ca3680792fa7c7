internal import SettingsModel
internal import Synchronization

/// A key store in its place within an adapter: the instance whose keys are meant there.
///
/// A store within another is taken from that once for each key path that leads to it, and kept as long as the adapter.
public final class StorePlace<Store: Sendable>: Sendable {
    let store: Store
    /// By what keys of this place are told from those of others; 0 for the adapter's own store.
    @usableFromInline let number: UInt
    /// How many key path objects stand for the place.
    let pathCount = Atomic(0)

    init(_ store: Store, number: UInt = 0) {
        self.store = store
        self.number = number
    }
}

/// How a store within another, or a key, is reached.
struct PlacePath: Hashable, Sendable {
    /// The number of the place that the path begins at.
    let parent: UInt
    let path: SlotEntry.RetainedPath
}
