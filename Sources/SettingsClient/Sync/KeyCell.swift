internal import SettingsModel
public import Synchronization

/// What all readers of one key share: a number that grows whenever what they would read may be another.
///
/// So a reader that kept a decoded value sees with one load whether it still holds.
@usableFromInline
final class KeyCell: Sendable {
    let name: KeyName
    /// The turn of those that write the key. What a conflict leads to is done in it, too: the key's type reads what is there
    /// and writes what is to be, which may be the program's own code.
    let turn = Turn()

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
