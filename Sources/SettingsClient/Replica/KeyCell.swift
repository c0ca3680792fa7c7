internal import SettingsModel
public import Synchronization

/// What all readers of one key share: a number that grows whenever what they would read may be another.
///
/// So a reader that kept a decoded value sees with one load whether it still holds.
@usableFromInline
final class KeyCell: Sendable {
    let name: KeyName
    /// Held while a write to the key is sent, so that writes of one program reach the daemon in the order in which they
    /// were seen here. Nothing else is done under it.
    let gate = Mutex<Void>(())

    @usableFromInline let counter = Atomic<UInt64>(1)

    init(_ name: KeyName) {
        self.name = name
    }

    /// Never 0.
    @inlinable var version: UInt64 {
        counter.load(ordering: .acquiring)
    }

    func advance() {
        counter.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }
}
