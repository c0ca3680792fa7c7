internal import SettingsModel
internal import Synchronization

/// One way to find a slot.
@usableFromInline
final class SlotEntry: Sendable {
    @usableFromInline let number: UInt
    /// The place whose key path the number stands for; 0 for what belongs to no place, too.
    @usableFromInline let place: UInt
    /// The slot, or the place of a store; retained by the entry. Not counted when it is used, so that readers on several
    /// cores do not write to one place.
    @usableFromInline let slot: Unmanaged<any AnyObject & Sendable>
    @usableFromInline let next: Unmanaged<SlotEntry>?
    let meaning: Meaning
    /// How many objects stand for the slot beside this entry, by kind.
    let pathCount = Atomic(0)
    let rulesCount = Atomic(0)

    /// What the number stands for: one of these. Each is by itself, as taking it out of an enumeration would count it.
    struct Meaning: Sendable {
        /// A key path by its identity, kept alive so that no other object gets that.
        var path: RetainedPath?
        /// A key's name and type, by what they have in common with few others.
        var name: TypedName?
        /// What the key of that name says beside it; without a name, this by its identity, kept alive.
        var rules: KeyRules?
    }

    /// A key path that is never evaluated, nor given out, so it does not matter to which isolation it belongs.
    struct RetainedPath: Hashable, @unchecked Sendable {
        let path: AnyKeyPath
    }

    init(
        _ number: UInt, in place: UInt, _ meaning: Meaning, _ slot: any AnyObject & Sendable,
        next: Unmanaged<SlotEntry>?
    ) {
        self.number = number
        self.place = place
        self.meaning = meaning
        self.slot = Unmanaged.passRetained(slot)
        self.next = next
    }

    deinit {
        slot.release()
    }

    /// Whether this is the entry of a name and type.
    func isOf(_ name: Span<UInt8>, _ type: ObjectIdentifier) -> Bool {
        meaning.name?.isSame(as: name, type) ?? false
    }

    /// Whether the key of the name is sure to say this.
    func isSure(of rules: KeyRules?) -> Bool {
        rules == nil ? meaning.rules == nil : KeyRules.areSurelySame(meaning.rules, rules)
    }

    /// Uses the slot; whoever does knows that its values are of this type.
    @inlinable
    func withSlot<Value, Result>(of type: Value.Type, _ body: (Slot<Value>) -> Result) -> Result {
        slot._withUnsafeGuaranteedRef { body(unsafeDowncast($0, to: Slot<Value>.self)) }
    }

    /// The place of a store. The caller has to know that the entry is of a key path to a store of this type.
    @inlinable
    func place<Store>(of type: Store.Type) -> Unmanaged<StorePlace<Store>> {
        slot._withUnsafeGuaranteedRef { Unmanaged.passUnretained(unsafeDowncast($0, to: StorePlace<Store>.self)) }
    }
}
