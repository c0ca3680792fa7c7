internal import SettingsModel
public import Synchronization

/// Slots by a number that stands for a key path or for a key, found without a lock.
///
/// It consists of chains to which entries are only ever added, in front. An entry is whole before it is published, never
/// changes, and lives as long as the index; so whoever walks along a chain needs nothing of those who add to it.
@usableFromInline
struct SlotIndex: ~Copyable, Sendable {
    /// The first of each chain. With more keys than there are chains, finding one takes a few steps more.
    @usableFromInline let chains = InlineArray<256, Atomic<Unmanaged<SlotEntry>?>> { _ in Atomic(nil) }

    /// The first entry of the chain that a number's entries are in.
    @inlinable
    func first(of number: UInt) -> Unmanaged<SlotEntry>? {
        chains[Self.position(of: number)].load(ordering: .acquiring)
    }

    /// The entry of a number that only one has. It is to be used while the index is sure to be there.
    @inlinable
    func only(of number: UInt) -> Unmanaged<SlotEntry>? {
        var next = first(of: number)
        while let entry = next {
            if entry._withUnsafeGuaranteedRef({ $0.number == number }) { return entry }
            next = entry._withUnsafeGuaranteedRef { $0.next }
        }
        return nil
    }

    /// Publishes an entry that was made to stand before what was the first. One at a time adds to an index, and keeps the
    /// entry as long as the index.
    func add(_ entry: SlotEntry) {
        chains[Self.position(of: entry.number)].store(Unmanaged.passUnretained(entry), ordering: .releasing)
    }

    @inlinable
    static func position(of number: UInt) -> Int {
        Int(truncatingIfNeeded: (number &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }
}

/// One way to find a slot.
@usableFromInline
final class SlotEntry: Sendable {
    @usableFromInline let number: UInt
    /// Kept by the entry. Not counted, so that readers on several cores do not write to one place in memory.
    @usableFromInline let unmanagedSlot: Unmanaged<any AnyObject & Sendable>
    @usableFromInline let next: Unmanaged<SlotEntry>?
    /// What the number stands for.
    let meaning: Meaning

    enum Meaning: Sendable {
        case path(RetainedPath)
        case key(KeyIdentity)
    }

    /// A key path kept alive, so that no other object gets its identity. It is never evaluated, nor given out, so it does
    /// not matter to which isolation it belongs.
    struct RetainedPath: @unchecked Sendable {
        let path: AnyKeyPath
    }

    init(_ number: UInt, _ meaning: Meaning, _ slot: any AnyObject & Sendable, next: Unmanaged<SlotEntry>?) {
        self.number = number
        self.meaning = meaning
        unmanagedSlot = Unmanaged.passRetained(slot)
        self.next = next
    }

    deinit {
        unmanagedSlot.release()
    }

    /// The slot, by those who know the type of its values.
    func slot<Value>(_ type: Value.Type = Value.self) -> Slot<Value> {
        unsafeDowncast(unmanagedSlot.takeUnretainedValue(), to: Slot<Value>.self)
    }
}
