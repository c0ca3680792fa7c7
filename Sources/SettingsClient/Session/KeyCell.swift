internal import SettingsModel
internal import Synchronization

/// A version number that all readers of one key share. It grows whenever they may read another value.
///
/// A reader that has cached a decoded value checks with one load if it still holds.
final class KeyCell: Sendable {
    let name: KeyName

    private let counter = Atomic<UInt64>(1)

    init(_ name: KeyName) {
        self.name = name
    }

    /// Never 0.
    var version: UInt64 {
        counter.load(ordering: .acquiring)
    }

    func advance() {
        counter.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }
}
