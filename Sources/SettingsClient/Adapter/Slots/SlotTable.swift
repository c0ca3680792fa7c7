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

    /// How many slots there may be of one name and type, and how many objects of a kind that stand for one: a key path that
    /// captures is another object on each use, and so are the rules of a key that is made on each use.
    private static let mostOfOneKind = 8

    private struct Added: Sendable {
        var entries: [SlotEntry] = []
        var slotCounts: [UInt: Int] = [:]
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

    /// Has an object stand for what an entry leads to from here on, unless enough do.
    private func add(
        _ object: AnyObject, _ meaning: SlotEntry.Meaning, to entry: SlotEntry, _ count: borrowing Atomic<Int>
    ) {
        guard count.load(ordering: .relaxed) < Self.mostOfOneKind else { return }
        let number = UInt(bitPattern: ObjectIdentifier(object))
        added.withLock { added in
            guard byObject.only(of: number) == nil, count.load(ordering: .relaxed) < Self.mostOfOneKind else { return }
            count.wrappingAdd(1, ordering: .relaxed)
            added.entries.append(byObject.add(number, meaning, entry.slot.takeUnretainedValue()))
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
        guard let entry = sharedEntry(of: key, withDefault: true) else { return makeSlot(for: key) }
        let retained = SlotEntry.RetainedPath(path: path)
        add(path, SlotEntry.Meaning(path: retained), to: entry, entry.pathCount)
        return entry.withSlot(of: Value.self) { $0 }
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

    /// The entry of a key, where it can be found without asking its type. It is to be used while the table is sure to be
    /// there.
    @inlinable
    func entry<Value>(of key: DefaultsKey<Value>) -> Unmanaged<SlotEntry>? {
        // Rules that are known were kept, so this is the same object, and belongs to a key of this type.
        if let rules = key.rules, let entry = byObject.only(of: UInt(bitPattern: ObjectIdentifier(rules))) {
            return entry
        }
        return entry(named: key.name, ObjectIdentifier(Value.self), key.rules)
    }

    /// The entry of a key that says this.
    @usableFromInline
    func entry(named name: String, _ type: ObjectIdentifier, _ rules: KeyRules?) -> Unmanaged<SlotEntry>? {
        let name = name.utf8Span.span
        let found = byName.newest(of: TypedName.number(name, type)) { entry in
            entry.isOf(name, type) && entry.isSure(of: rules)
        }
        if let rules {
            found?._withUnsafeGuaranteedRef { add(rules, SlotEntry.Meaning(rules: rules), to: $0, $0.rulesCount) }
        }
        return found
    }

    /// The slot of a key by its name, type and rules.
    ///
    /// - Parameter needsDefault: whether its default has to be the key's, too.
    func slot<Value>(for key: DefaultsKey<Value>, withDefault needsDefault: Bool = false) -> Slot<Value> {
        guard let entry = sharedEntry(of: key, withDefault: needsDefault) else { return makeSlot(for: key) }
        if let rules = key.rules { add(rules, SlotEntry.Meaning(rules: rules), to: entry, entry.rulesCount) }
        return entry.withSlot(of: Value.self) { $0 }
    }

    /// The entry of a key by all that it says, made if it is not known; nil if too many say something else under the name.
    private func sharedEntry<Value>(of key: DefaultsKey<Value>, withDefault needsDefault: Bool) -> SlotEntry? {
        let type = ObjectIdentifier(Value.self)
        let name = key.name.utf8Span.span
        let number = TypedName.number(name, type)
        let known = byName.newest(of: number) { entry in
            entry.isOf(name, type)
                && entry.withSlot(of: Value.self) { slot in
                    slot.key.hasSameRules(as: key) && (!needsDefault || slot.key.hasSameDefault(as: key))
                }
        }
        if let known { return known.takeUnretainedValue() }
        guard added.withLock({ $0.slotCounts[number, default: 0] < Self.mostOfOneKind }) else { return nil }
        let slot = makeSlot(for: key)
        return added.withLock { added in
            added.slotCounts[number, default: 0] += 1
            let entry = byName.add(
                number, SlotEntry.Meaning(name: TypedName(key.name, type), rules: key.rules), slot)
            added.entries.append(entry)
            return entry
        }
    }

    private func makeSlot<Value>(for key: DefaultsKey<Value>) -> Slot<Value> {
        let slot = Slot(key, replica: replica, arguments: arguments, readers: readers)
        if case .failure(let error) = slot.codec { report(key.name, error) }
        return slot
    }
}
