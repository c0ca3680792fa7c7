internal import SettingsModel
public import Synchronization

/// Slots by a number that stands for an object or a name, found without a lock.
///
/// It consists of chains to which entries are only ever added, in front. An entry is whole before it is published, never
/// changes, and is kept as long as the index; so a thread that walks along a chain needs no lock. Where a
/// chain is long enough, what is added goes into a branch below it: so finding one of 50,000 takes a few steps, too.
@usableFromInline
struct SlotIndex: ~Copyable, Sendable {
    @usableFromInline let chains = InlineArray<128, SlotChain> { _ in SlotChain() }

    /// The entry of a number that only one has in a place. It is to be used while the index is sure to be there.
    @inlinable
    func only(of number: UInt, in place: UInt = 0) -> Unmanaged<SlotEntry>? {
        let hash = Self.hash(of: number)
        let position = Int(truncatingIfNeeded: hash >> 57)
        if let entry = chains[position].entry(where: { $0.number == number && $0.place == place }) { return entry }
        guard chains[position].branch.load(ordering: .acquiring) != nil else { return nil }
        return deeper(hash) { $0.number == number && $0.place == place }
    }

    /// An entry of a number that is as wanted. It is to be used while the index is sure to be there.
    func any(of number: UInt, where isWanted: (SlotEntry) -> Bool) -> Unmanaged<SlotEntry>? {
        let hash = Self.hash(of: number)
        let found = chains[Int(truncatingIfNeeded: hash >> 57)].entry { $0.number == number && isWanted($0) }
        return found ?? deeper(hash) { $0.number == number && isWanted($0) }
    }

    /// The same in the branches.
    @usableFromInline
    func deeper(_ hash: UInt, where isWanted: (SlotEntry) -> Bool) -> Unmanaged<SlotEntry>? {
        var branch = chains[Int(truncatingIfNeeded: hash >> 57)].branch.load(ordering: .acquiring)
        var rest = hash << 7
        while let current = branch {
            let position = Int(truncatingIfNeeded: rest >> 60)
            if let entry = current._withUnsafeGuaranteedRef({ $0.chains[position].entry(where: isWanted) }) {
                return entry
            }
            branch = current._withUnsafeGuaranteedRef { $0.chains[position].branch.load(ordering: .acquiring) }
            rest <<= 4
        }
        return nil
    }

    /// Adds an entry, to be kept by the caller. One at a time adds to an index.
    func add(
        _ number: UInt, in place: UInt = 0, _ meaning: SlotEntry.Meaning, _ slot: any AnyObject & Sendable
    ) -> SlotEntry {
        let hash = Self.hash(of: number)
        return chains[Int(truncatingIfNeeded: hash >> 57)].add(hash << 7) { next in
            SlotEntry(number, in: place, meaning, slot, next: next)
        }
    }

    @inlinable
    static func hash(of number: UInt) -> UInt {
        number &* 0x9E37_79B9_7F4A_7C15
    }
}

/// Some entries whose numbers have the same hash in part, and the branch for those that were too many.
@usableFromInline
struct SlotChain: ~Copyable, Sendable {
    @usableFromInline let first = Atomic<Unmanaged<SlotEntry>?>(nil)
    /// Kept by the chain.
    @usableFromInline let branch = Atomic<Unmanaged<SlotBranch>?>(nil)

    private static let mostEntries = 4

    @usableFromInline
    init() {}

    deinit {
        branch.load(ordering: .acquiring)?.release()
    }

    @inlinable
    func entry(where isWanted: (SlotEntry) -> Bool) -> Unmanaged<SlotEntry>? {
        var next = first.load(ordering: .acquiring)
        while let entry = next {
            if entry._withUnsafeGuaranteedRef({ isWanted($0) }) { return entry }
            next = entry._withUnsafeGuaranteedRef { $0.next }
        }
        return nil
    }

    /// - Parameter rest: what of the hash is not said by the place of the chain.
    func add(_ rest: UInt, _ makeEntry: (Unmanaged<SlotEntry>?) -> SlotEntry) -> SlotEntry {
        guard isFull, rest != 0 else {
            let entry = makeEntry(first.load(ordering: .relaxed))
            first.store(Unmanaged.passUnretained(entry), ordering: .releasing)
            return entry
        }
        if branch.load(ordering: .relaxed) == nil {
            branch.store(Unmanaged.passRetained(SlotBranch()), ordering: .releasing)
        }
        // The chain keeps the branch.
        guard let branch = branch.load(ordering: .relaxed)?.takeUnretainedValue() else {
            preconditionFailure("a branch was just made")
        }
        return branch.chains[Int(truncatingIfNeeded: rest >> 60)].add(rest << 4, makeEntry)
    }

    private var isFull: Bool {
        var count = 0
        return entry { _ in
            count += 1
            return count == Self.mostEntries
        } != nil
    }
}

/// Chains below a chain.
@usableFromInline
final class SlotBranch: Sendable {
    @usableFromInline let chains = InlineArray<16, SlotChain> { _ in SlotChain() }
}
