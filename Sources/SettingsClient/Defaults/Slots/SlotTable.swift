public import SettingsModel
internal import Synchronization

/// Finds the slot of a key.
///
/// Evaluating a computed key costs more than all else that a read does, so a key path is known by its identity: the
/// literal of a key path without captures is one object for the whole program. So is what a key that was made once says of
/// its values. All keys that say the same share one slot, so that what is stored is decoded once for all of them.
@usableFromInline
final class SlotTable: Sendable {
    private let session: SuiteSession
    private let arguments: LaunchArguments
    private let report: @Sendable (String, DefaultsError) -> Void
    private let readers = Readers()
    @usableFromInline let byObject = SlotIndex()
    private let byName = SlotIndex()
    private let added = Mutex(Added())

    /// How many slots there may be of one name and type, and how many objects of a kind that stand for one: a key path that
    /// captures is another object on each use, and so are the rules of a key that is made on each use.
    private static let mostOfOneKind = 8
    /// How many slots are kept of keys that are given themselves, whose names may be made while the program runs.
    private static let mostNames = 512

    private struct Added: Sendable {
        var entries: [SlotEntry] = []
        /// By what was said for an equal path: the same path in another place of the source may be another object.
        var places: [PlacePath: any AnyObject & Sendable] = [:]
        var slots: [PlacePath: SlotEntry] = [:]
        /// The places of stores that hold nothing, by their types.
        var stateless: [ObjectIdentifier: any AnyObject & Sendable] = [:]
        /// How many slots are not of a key path.
        var nameCount = 0

        /// A number for a place, from 1.
        var nextPlace: UInt { UInt(places.count + stateless.count + 1) }
        /// Of each type of values the first slot whose key says nothing but its name and default.
        var models: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    init(
        session: SuiteSession, arguments: LaunchArguments, report: @escaping @Sendable (String, DefaultsError) -> Void
    ) {
        self.session = session
        self.arguments = arguments
        self.report = report
    }

    /// How many ways to find a slot there are.
    var entryCount: Int {
        added.withLock { $0.entries.count }
    }

    /// Has an object or a type stand for what an entry leads to from here on, unless enough do.
    private func add(
        _ identity: ObjectIdentifier, in place: UInt = 0, _ meaning: SlotEntry.Meaning,
        to target: @autoclosure () -> any AnyObject & Sendable, _ count: borrowing Atomic<Int>
    ) {
        guard count.load(ordering: .relaxed) < Self.mostOfOneKind else { return }
        let number = UInt(bitPattern: identity)
        added.withLock { added in
            guard byObject.only(of: number, in: place) == nil,
                count.load(ordering: .relaxed) < Self.mostOfOneKind
            else { return }
            count.wrappingAdd(1, ordering: .relaxed)
            added.entries.append(byObject.add(number, in: place, meaning, target()))
        }
    }

    /// Has a key path stand for a slot, unless enough do.
    private func add(_ path: PlacePath, to entry: SlotEntry) {
        guard entry.pathCount.load(ordering: .relaxed) < Self.mostOfOneKind else { return }
        added.withLock { $0.slots[path] = entry }
        add(
            ObjectIdentifier(path.path.path), in: path.parent, SlotEntry.Meaning(path: path.path),
            to: entry.slot.takeUnretainedValue(),
            entry.pathCount)
    }
}

/// By key path.
extension SlotTable {
    /// The value of a key path's slot, if it is known and nothing changed since it was decoded.
    @inlinable
    func cachedValue<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>, in place: UInt) -> Value? {
        // Entries live as long as the table, which therefore has to outlast their use.
        withExtendedLifetime(self) {
            // A path that is known was kept, so this is the same object, and its type says what the slot was made for.
            byObject.only(of: UInt(bitPattern: ObjectIdentifier(path)), in: place)?._withUnsafeGuaranteedRef {
                $0.withSlot(of: Value.self) { $0.cachedValue }
            }
        }
    }

    /// The slot of a key path; nil for a path that is not kept, whose key is then looked up.
    func slot<Store, Value>(for path: KeyPath<Store, DefaultsKey<Value>>, in place: UInt) -> Slot<Value>? {
        withExtendedLifetime(self) {
            byObject.only(of: UInt(bitPattern: ObjectIdentifier(path)), in: place)?._withUnsafeGuaranteedRef {
                $0.withSlot(of: Value.self) { $0 }
            }
        }
    }

    /// The slot of a path that is not known as an object: that of an equal path, or else by its key, whose default is then
    /// the slot's.
    func addSlot<Store, Value>(
        for path: KeyPath<Store, DefaultsKey<Value>>, in place: UInt, key: () -> DefaultsKey<Value>
    ) -> Slot<Value> {
        let path = PlacePath(parent: place, path: SlotEntry.RetainedPath(path: path))
        if let known = added.withLock({ $0.slots[path] }) {
            add(path, to: known)
            return known.withSlot(of: Value.self) { $0 }
        }
        let key = key()
        guard let entry = sharedEntry(of: key, withDefault: true, isOfPath: true) else { return makeSlot(for: key) }
        add(path, to: entry)
        return entry.withSlot(of: Value.self) { $0 }
    }
}

/// Stores within stores.
extension SlotTable {
    /// The place of a store, if its path is known.
    @inlinable
    func knownPlace<Store, Inner>(for path: KeyPath<Store, Inner>, in place: UInt) -> Unmanaged<StorePlace<Inner>>? {
        withExtendedLifetime(self) {
            byObject.only(of: UInt(bitPattern: ObjectIdentifier(path)), in: place)?._withUnsafeGuaranteedRef {
                $0.place(of: Inner.self)
            }
        }
    }

    /// The place of a store that holds nothing, if one is known: all instances of the type are the same.
    @inlinable
    func knownPlace<Inner>(of type: Inner.Type) -> Unmanaged<StorePlace<Inner>>? {
        withExtendedLifetime(self) {
            byObject.only(of: UInt(bitPattern: ObjectIdentifier(type)))?._withUnsafeGuaranteedRef {
                $0.place(of: Inner.self)
            }
        }
    }

    /// The place of a store that holds nothing.
    func addPlace<Store: Sendable>(of store: Store) -> Unmanaged<StorePlace<Store>> {
        let type = ObjectIdentifier(Store.self)
        let place = added.withLock { added in
            if let known = added.stateless[type] { return known }
            let place = StorePlace(store, number: added.nextPlace)
            added.stateless[type] = place
            return place
        }
        let typed = unsafeDowncast(place, to: StorePlace<Store>.self)
        add(type, SlotEntry.Meaning(), to: typed, typed.pathCount)
        return Unmanaged.passUnretained(typed)
    }

    /// The place of a store whose path is not known as an object.
    func addPlace<Store, Inner>(
        for path: KeyPath<Store, Inner>, in parent: StorePlace<Store>
    ) -> Unmanaged<StorePlace<Inner>> {
        let placePath = PlacePath(parent: parent.number, path: SlotEntry.RetainedPath(path: path))
        let known = added.withLock { $0.places[placePath] }
        // What the program says is asked without the lock. Of two that ask at once, the first to be kept counts.
        let place = known ?? keep(parent.store[keyPath: path], as: placePath)
        let typed = unsafeDowncast(place, to: StorePlace<Inner>.self)
        add(
            ObjectIdentifier(path), in: parent.number, SlotEntry.Meaning(path: placePath.path), to: typed,
            typed.pathCount)
        return Unmanaged.passUnretained(typed)
    }

    private func keep<Store: Sendable>(_ store: Store, as path: PlacePath) -> any AnyObject & Sendable {
        added.withLock { added in
            if let known = added.places[path] { return known }
            let place = StorePlace(store, number: added.nextPlace)
            added.places[path] = place
            return place
        }
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
        let found = byName.any(of: TypedName.number(name, type)) { entry in
            entry.isOf(name, type) && entry.isSure(of: rules)
        }
        if let rules {
            found?._withUnsafeGuaranteedRef {
                add(
                    ObjectIdentifier(rules), SlotEntry.Meaning(rules: rules), to: $0.slot.takeUnretainedValue(),
                    $0.rulesCount)
            }
        }
        return found
    }

    /// The slot of a key by its name, type and rules.
    ///
    /// - Parameter needsDefault: whether its default has to be the key's, too.
    func slot<Value>(for key: DefaultsKey<Value>, withDefault needsDefault: Bool = false) -> Slot<Value> {
        keptSlot(for: key, withDefault: needsDefault) ?? makeSlot(for: key)
    }

    /// The slot of a key, if it is kept: not of too many keys, and not where too many say something else under a name.
    func keptSlot<Value>(for key: DefaultsKey<Value>, withDefault needsDefault: Bool = false) -> Slot<Value>? {
        guard let entry = sharedEntry(of: key, withDefault: needsDefault, isOfPath: false) else { return nil }
        if let rules = key.rules {
            add(
                ObjectIdentifier(rules), SlotEntry.Meaning(rules: rules), to: entry.slot.takeUnretainedValue(),
                entry.rulesCount)
        }
        return entry.withSlot(of: Value.self) { $0 }
    }

    /// The entry of a key by all that it says, made if it is not known; nil if there are too many.
    private func sharedEntry<Value>(
        of key: DefaultsKey<Value>, withDefault needsDefault: Bool, isOfPath: Bool
    ) -> SlotEntry? {
        let type = ObjectIdentifier(Value.self)
        let name = key.name.utf8Span.span
        let number = TypedName.number(name, type)
        let known = byName.any(of: number) { entry in
            entry.isOf(name, type)
                && entry.withSlot(of: Value.self) { slot in
                    slot.key.hasSameRules(as: key) && (!needsDefault || slot.key.hasSameDefault(as: key))
                }
        }
        if let known { return known.takeUnretainedValue() }
        var count = 0
        _ = byName.any(of: number) { _ in
            count += 1
            return false
        }
        guard count < Self.mostOfOneKind, isOfPath || added.withLock({ $0.nameCount < Self.mostNames }) else {
            return nil
        }
        let slot = makeSlot(for: key)
        return added.withLock { added in
            if !isOfPath { added.nameCount += 1 }
            let entry = byName.add(
                number, SlotEntry.Meaning(name: TypedName(key.name, type), rules: key.rules), slot)
            added.entries.append(entry)
            return entry
        }
    }

    /// Makes a slot that is not kept, unless the caller adds it.
    func makeSlot<Value>(for key: DefaultsKey<Value>) -> Slot<Value> {
        let type = ObjectIdentifier(Value.self)
        // What is compiled of such a key is the same for all of its type.
        let model = key.rules == nil ? added.withLock { $0.models[type] } : nil
        let codec = model.flatMap { try? unsafeDowncast($0, to: Slot<Value>.self).codec.get() }
        let slot = Slot(key, like: codec, session: session, arguments: arguments, readers: readers)
        switch slot.codec {
        case .failure(let error): report(key.name, error)
        case .success: if key.rules == nil, model == nil { added.withLock { $0.models[type] = slot } }
        }
        return slot
    }
}
