internal import Observation
internal import SettingsModel
internal import Synchronization

/// The state that all readers of one key share: a version for cached values, and a tracker for Swift's Observation.
final class KeyCell: Sendable {
    let name: KeyName

    private let counter = Atomic<UInt64>(1)
    private let currentTracker = Mutex<ValueTracker?>(nil)

    init(_ name: KeyName) {
        self.name = name
    }

    /// The version of the key. A cached value is valid while the version is the same.
    var version: UInt64 {
        counter.load(ordering: .acquiring)
    }

    /// Increments the version, so that the next read does not use the cached value.
    func invalidate() {
        counter.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }

    /// The tracker of the current value. A reader must get the tracker before the value. If the value changes between
    /// the two reads, the tracker announces the change.
    var tracker: ValueTracker {
        currentTracker.withLock { current in
            if let current { return current }
            let tracker = ValueTracker()
            current = tracker
            return tracker
        }
    }

    /// Removes the tracker, because the value has changed. Returns nil if no reader has requested the tracker.
    func removeTracker() -> ValueTracker? {
        let tracker = currentTracker.withLock { $0.take() }
        // A reader may have cached the new value together with the removed tracker, which does not announce later
        // changes. A new version makes this cached value invalid.
        invalidate()
        return tracker
    }
}

/// The object that Swift's Observation tracks for one value of a key. When the value changes, the key gets a new
/// tracker.
final class ValueTracker: Observable, Sendable {
    private let registrar = ObservationRegistrar()

    /// The property that Observation tracks.
    private var value: Void { () }
    private static let valuePath: any KeyPath<ValueTracker, Void> & Sendable = \.value

    /// Registers a read with Observation. Has an effect only within `withObservationTracking` or `Observations`.
    func registerRead() {
        registrar.access(self, keyPath: Self.valuePath)
    }

    /// Calls the functions that track the value. These functions are code of the program, so the calling code must hold
    /// no lock.
    func announceChange() {
        registrar.withMutation(of: self, keyPath: Self.valuePath) {}
    }
}
