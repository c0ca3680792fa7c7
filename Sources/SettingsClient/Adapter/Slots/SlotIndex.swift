internal import SettingsModel
public import Synchronization

/// Slots by a number that stands for an object or a name, found without a lock.
///
/// It consists of chains to which entries are only ever added, in front. An entry is whole before it is published, never
/// changes, and is kept as long as the index; so whoever walks along a chain needs nothing of those who add to it.
@usableFromInline
struct SlotIndex: ~Copyable, Sendable {
    /// The first of each chain. With more entries than there are chains, finding one takes a few steps more.
    @usableFromInline let chains = InlineArray<256, Atomic<Unmanaged<SlotEntry>?>> { _ in Atomic(nil) }

    /// The entry of a number that only one has. It is to be used while the index is sure to be there.
    @inlinable
    func only(of number: UInt) -> Unmanaged<SlotEntry>? {
        var next = chains[Self.position(of: number)].load(ordering: .acquiring)
        while let entry = next {
            if entry._withUnsafeGuaranteedRef({ $0.number == number }) { return entry }
            next = entry._withUnsafeGuaranteedRef { $0.next }
        }
        return nil
    }

    /// The newest entry of a number that is as wanted. It is to be used while the index is sure to be there.
    func newest(of number: UInt, where isWanted: (SlotEntry) -> Bool) -> Unmanaged<SlotEntry>? {
        var next = chains[Self.position(of: number)].load(ordering: .acquiring)
        while let entry = next {
            if entry._withUnsafeGuaranteedRef({ $0.number == number && isWanted($0) }) { return entry }
            next = entry._withUnsafeGuaranteedRef { $0.next }
        }
        return nil
    }

    /// Adds an entry, to be kept by the caller. One at a time adds to an index.
    func add(_ number: UInt, _ meaning: SlotEntry.Meaning, _ slot: any AnyObject & Sendable) -> SlotEntry {
        let position = Self.position(of: number)
        let entry = SlotEntry(number, meaning, slot, next: chains[position].load(ordering: .relaxed))
        chains[position].store(Unmanaged.passUnretained(entry), ordering: .releasing)
        return entry
    }

    @inlinable
    static func position(of number: UInt) -> Int {
        Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }
}
