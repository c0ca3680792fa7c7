internal import SettingsModel

/// One way to find a slot.
@usableFromInline
final class SlotEntry: Sendable {
    @usableFromInline let number: UInt
    /// Kept by the entry. Not counted when it is used, so that readers on several cores do not write to one place.
    @usableFromInline let slot: Unmanaged<any AnyObject & Sendable>
    @usableFromInline let next: Unmanaged<SlotEntry>?
    let meaning: Meaning

    /// What the number stands for.
    enum Meaning: Sendable {
        /// An object by its identity, kept alive so that no other gets that.
        case object(Object)
        /// A name and a type by what they have in common with few others; and whether the slot's key says nothing else.
        case name(TypedName, isPlain: Bool)
    }

    enum Object: Sendable {
        case path(RetainedPath)
        case rules(KeyRules)

        var identity: ObjectIdentifier {
            switch self {
            case .path(let path): ObjectIdentifier(path.path)
            case .rules(let rules): ObjectIdentifier(rules)
            }
        }
    }

    /// A key path that is never evaluated, nor given out, so it does not matter to which isolation it belongs.
    struct RetainedPath: @unchecked Sendable {
        let path: AnyKeyPath
    }

    init(_ number: UInt, _ meaning: Meaning, _ slot: any AnyObject & Sendable, next: Unmanaged<SlotEntry>?) {
        self.number = number
        self.meaning = meaning
        self.slot = Unmanaged.passRetained(slot)
        self.next = next
    }

    deinit {
        slot.release()
    }

    /// Uses the slot; whoever does knows that its values are of this type.
    @inlinable
    func withSlot<Value, Result>(of type: Value.Type, _ body: (Slot<Value>) -> Result) -> Result {
        slot._withUnsafeGuaranteedRef { body(unsafeDowncast($0, to: Slot<Value>.self)) }
    }
}
