public import SettingsModel
internal import Synchronization

/// Finds the slot of a key.
///
/// Evaluating a computed key costs more than all else that a read does, so a key path is known by its identity: the
/// literal of a key path without captures is one object for the whole program. All keys that say the same share one slot,
/// so that what is stored is decoded once for all of them.
@usableFromInline
final class SlotTable: Sendable {
    private let replica: Replica
    private let arguments: LaunchArguments
    private let report: @Sendable (String, DefaultsError) -> Void
    @usableFromInline let readers = Readers()
    @usableFromInline let byPath = SlotIndex()
    private let byKey = SlotIndex()
    private let added = Mutex(Added())

    /// How many slots a key may have for each way to name it: a key path that captures is another object on each use.
    private static let mostOfOneKey = 8

    private struct Added: Sendable {
        var entries: [SlotEntry] = []
        var pathCount: [UTF8Text: Int] = [:]
    }

    init(
        replica: Replica, arguments: LaunchArguments, report: @escaping @Sendable (String, DefaultsError) -> Void
    ) {
        self.replica = replica
        self.arguments = arguments
        self.report = report
    }

    /// How many key paths are known.
    var pathCount: Int {
        added.withLock { $0.pathCount.values.reduce(0, +) }
    }
}

/// By key path.
extension SlotTable {
    /// The value of a key path's slot, if it is known and nothing changed since it was decoded.
    @inlinable
    func keptValue<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>) -> Value? {
        // Entries live as long as the table, which therefore has to outlast their use.
        withExtendedLifetime(self) {
            guard let entry = byPath.only(of: UInt(bitPattern: ObjectIdentifier(path))) else { return nil }
            // The path was kept, so this is the same object, and its type says what the slot was made for.
            return entry._withUnsafeGuaranteedRef {
                $0.unmanagedSlot._withUnsafeGuaranteedRef {
                    unsafeDowncast($0, to: Slot<Value>.self).keptValue(readers)
                }
            }
        }
    }

    /// The slot of a key path; nil for a path that is not kept, whose key is then looked up.
    func slot<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>) -> Slot<Value>? {
        withExtendedLifetime(self) {
            guard let entry = byPath.only(of: UInt(bitPattern: ObjectIdentifier(path))) else { return nil }
            return entry.takeUnretainedValue().slot()
        }
    }

    /// The slot of a path that is not known, by its key. The path is known from then on, unless too many of the key are.
    func addSlot<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>, key: DefaultsKey<Value>) -> Slot<Value> {
        let slot = slot(for: key, withDefault: true)
        let number = UInt(bitPattern: ObjectIdentifier(path))
        let retained = SlotEntry.RetainedPath(path: path)
        let name = UTF8Text(key.name)
        return added.withLock { added in
            if let known = byPath.only(of: number) {
                return known.takeUnretainedValue().slot()
            }
            guard added.pathCount[name, default: 0] < Self.mostOfOneKey else { return slot }
            added.pathCount[name, default: 0] += 1
            let entry = SlotEntry(number, .path(retained), slot, next: byPath.first(of: number))
            added.entries.append(entry)
            byPath.add(entry)
            return slot
        }
    }
}

/// By key.
extension SlotTable {
    /// The value of a key's slot, or the key's default, if it is known and nothing changed since it was decoded.
    @inlinable
    func keptValue<Value>(for key: DefaultsKey<Value>) -> Value? {
        withExtendedLifetime(self) {
            let entry = entry(
                key.name, ObjectIdentifier(Value.self), key.limits, key.traits, allowed: key.placeOfAllowed)
            return entry?._withUnsafeGuaranteedRef {
                $0.unmanagedSlot._withUnsafeGuaranteedRef {
                    unsafeDowncast($0, to: Slot<Value>.self).keptValue(readers, orDefault: key.defaultValue)
                }
            }
        }
    }

    /// The entry of a key that says this. It is to be used while the table is sure to be there.
    @usableFromInline
    func entry(
        _ name: String, _ type: ObjectIdentifier, _ limits: KeyLimits, _ traits: KeyTraits, allowed: UInt
    ) -> Unmanaged<SlotEntry>? {
        let number = KeyIdentity.number(name, type)
        var next = byKey.first(of: number)
        while let entry = next {
            let isFound = entry._withUnsafeGuaranteedRef { entry in
                guard entry.number == number, case .key(let key) = entry.meaning else { return false }
                return key.type == type && key.allowed == allowed && key.name.hasSameBytes(as: name)
                    && key.limits == limits && key.traits == traits
            }
            if isFound { return entry }
            next = entry._withUnsafeGuaranteedRef { $0.next }
        }
        return nil
    }

    /// The slot of a key by its name, type and rules.
    ///
    /// - Parameter needsDefault: whether its default has to be the key's, too.
    func slot<Value>(for key: DefaultsKey<Value>, withDefault needsDefault: Bool = false) -> Slot<Value> {
        let known = slots(named: key)
        for slot in known where slot.key.hasSameRules(as: key) {
            if !needsDefault || slot.key.hasSameDefault(as: key) { return slot }
        }
        let slot = Slot(key, replica: replica, arguments: arguments)
        if case .failure(let error) = slot.codec { report(key.name, error) }
        guard known.count < Self.mostOfOneKey else { return slot }
        let number = KeyIdentity.number(key.name, ObjectIdentifier(Value.self))
        added.withLock { added in
            let entry = SlotEntry(number, .key(KeyIdentity(key)), slot, next: byKey.first(of: number))
            added.entries.append(entry)
            byKey.add(entry)
        }
        return slot
    }

    /// The slots of a key's name and type, the oldest first.
    private func slots<Value>(named key: DefaultsKey<Value>) -> [Slot<Value>] {
        let type = ObjectIdentifier(Value.self)
        let number = KeyIdentity.number(key.name, type)
        var slots: [Slot<Value>] = []
        withExtendedLifetime(self) {
            var next = byKey.first(of: number)
            while let entry = next?.takeUnretainedValue() {
                if case .key(let known) = entry.meaning, known.type == type, known.name.hasSameBytes(as: key.name) {
                    slots.append(entry.slot())
                }
                next = entry.next
            }
        }
        return slots.reversed()
    }
}
