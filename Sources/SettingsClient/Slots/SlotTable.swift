public import SettingsModel
internal import Synchronization

/// Finds the slot of a key.
///
/// Evaluating a computed key costs more than all else that a read does, so a key path is known by its identity: the
/// literal of a key path without captures is one object for the whole program. So is what a key that was made once says of
/// its values. All keys that say the same share one slot, so that what is stored is decoded once for all of them.
@usableFromInline
final class SlotTable: Sendable {
    private let replica: Replica
    private let arguments: LaunchArguments
    private let report: @Sendable (String, DefaultsError) -> Void
    private let readers = Readers()
    @usableFromInline let byObject = SlotIndex()
    private let byName = SlotIndex()
    private let added = Mutex(Added())

    /// How many entries of a kind a name may have: a key path that captures is another object on each use, and so are the
    /// rules of a key that is made on each use.
    private static let mostOfOneKind = 8

    private struct Added: Sendable {
        var entries: [SlotEntry] = []
        var counts: [Counted: Int] = [:]

        /// Whether there may be one more; then it is counted.
        mutating func count(_ name: String, _ kind: Counted.Kind) -> Bool {
            let counted = Counted(name: UTF8Text(name), kind: kind)
            let count = counts[counted, default: 0]
            guard count < SlotTable.mostOfOneKind else { return false }
            counts[counted] = count + 1
            return true
        }
    }

    private struct Counted: Hashable {
        let name: UTF8Text
        let kind: Kind

        enum Kind: Hashable {
            case path
            case rules
            case slot(ObjectIdentifier)
        }
    }

    init(
        replica: Replica, arguments: LaunchArguments, report: @escaping @Sendable (String, DefaultsError) -> Void
    ) {
        self.replica = replica
        self.arguments = arguments
        self.report = report
    }

    /// How many ways to find a slot there are.
    var entryCount: Int {
        added.withLock { $0.entries.count }
    }

    /// Has an object stand for a slot from here on, unless too many do.
    private func add<Value>(_ object: SlotEntry.Object, _ kind: Counted.Kind, for slot: Slot<Value>) {
        let number = UInt(bitPattern: object.identity)
        added.withLock { added in
            guard byObject.only(of: number) == nil, added.count(slot.key.name, kind) else { return }
            added.entries.append(byObject.add(number, .object(object), slot))
        }
    }
}

/// By key path.
extension SlotTable {
    /// The value of a key path's slot, if it is known and nothing changed since it was decoded.
    @inlinable
    func cachedValue<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>) -> Value? {
        // Entries live as long as the table, which therefore has to outlast their use.
        withExtendedLifetime(self) {
            // A path that is known was kept, so this is the same object, and its type says what the slot was made for.
            byObject.only(of: UInt(bitPattern: ObjectIdentifier(path)))?._withUnsafeGuaranteedRef {
                $0.withSlot(of: Value.self) { $0.cachedValue }
            }
        }
    }

    /// The slot of a key path; nil for a path that is not kept, whose key is then looked up.
    func slot<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>) -> Slot<Value>? {
        withExtendedLifetime(self) {
            byObject.only(of: UInt(bitPattern: ObjectIdentifier(path)))?._withUnsafeGuaranteedRef {
                $0.withSlot(of: Value.self) { $0 }
            }
        }
    }

    /// The slot of a path that is not known, by its key, whose default is then the slot's.
    func addSlot<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>, key: DefaultsKey<Value>) -> Slot<Value> {
        let slot = knownSlot(for: key, withDefault: true) ?? addSlot(for: key)
        add(.path(SlotEntry.RetainedPath(path: path)), .path, for: slot)
        return slot
    }
}

/// By key.
extension SlotTable {
    /// The value of a key's slot, or the key's default, if it is known and nothing changed since it was decoded.
    @inlinable
    func cachedValue<Value>(for key: DefaultsKey<Value>) -> Value? {
        withExtendedLifetime(self) {
            entry(of: key)?._withUnsafeGuaranteedRef {
                $0.withSlot(of: Value.self) { $0.cachedValue(orDefault: key.defaultValue) }
            }
        }
    }

    /// The entry of a key, where it can be found without comparing what keys say. It is to be used while the table is sure
    /// to be there.
    @inlinable
    func entry<Value>(of key: DefaultsKey<Value>) -> Unmanaged<SlotEntry>? {
        // Rules that are known were kept, so this is the same object, and belongs to a key of this type.
        if let rules = key.rules { return byObject.only(of: UInt(bitPattern: ObjectIdentifier(rules))) }
        return entry(named: key.name, ObjectIdentifier(Value.self))
    }

    /// The entry of a key that says nothing but its name, type and default.
    @usableFromInline
    func entry(named name: String, _ type: ObjectIdentifier) -> Unmanaged<SlotEntry>? {
        let name = name.utf8Span.span
        return byName.newest(of: TypedName.number(name, type)) { entry in
            guard case .name(let known, isPlain: true) = entry.meaning else { return false }
            return known.isSame(as: name, type)
        }
    }

    /// The slot of a key by its name, type and rules. Its default may be another.
    func slot<Value>(for key: DefaultsKey<Value>) -> Slot<Value> {
        let slot = knownSlot(for: key, withDefault: false) ?? addSlot(for: key)
        if let rules = key.rules { add(.rules(rules), .rules, for: slot) }
        return slot
    }

    private func knownSlot<Value>(for key: DefaultsKey<Value>, withDefault needsDefault: Bool) -> Slot<Value>? {
        let type = ObjectIdentifier(Value.self)
        return withExtendedLifetime(self) {
            let name = key.name.utf8Span.span
            let entry = byName.newest(of: TypedName.number(name, type)) { entry in
                guard case .name(let known, isPlain: _) = entry.meaning, known.isSame(as: name, type) else {
                    return false
                }
                return entry.withSlot(of: Value.self) { slot in
                    slot.key.hasSameRules(as: key) && (!needsDefault || slot.key.hasSameDefault(as: key))
                }
            }
            return entry?._withUnsafeGuaranteedRef { $0.withSlot(of: Value.self) { $0 } }
        }
    }

    private func addSlot<Value>(for key: DefaultsKey<Value>) -> Slot<Value> {
        let slot = Slot(key, replica: replica, arguments: arguments, readers: readers)
        if case .failure(let error) = slot.codec { report(key.name, error) }
        let type = ObjectIdentifier(Value.self)
        added.withLock { added in
            guard added.count(key.name, .slot(type)) else { return }
            let number = TypedName.number(key.name.utf8Span.span, type)
            let meaning = SlotEntry.Meaning.name(TypedName(key.name, type), isPlain: key.rules == nil)
            added.entries.append(byName.add(number, meaning, slot))
        }
        return slot
    }
}
