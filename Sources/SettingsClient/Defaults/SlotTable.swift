internal import SettingsModel
internal import Synchronization

/// A table that finds the slot of a key.
///
/// Evaluating a computed key costs more than the rest of a read, so a key path is known by its identity: a key path
/// literal without captures is one object for the whole program. A key with limits or traits that was made once is known by
/// the identity of its rules, any other by name and type. Keys that differ at most in their defaults share one slot, so a
/// stored value is decoded once for all of them.
final class SlotTable: Sendable {
    /// The slot that an object stands for, and the value that was read through it last.
    final class Entry: Sendable {
        let slot: any AnyObject & Sendable
        /// Retained, so that no other object gets its identity.
        private let object: RetainedObject
        private let cell: KeyCell?
        private let version: UInt64
        let value: any Sendable
        /// True if the value is the default of the slot's key.
        let isDefault: Bool

        fileprivate init<Value>(_ object: RetainedObject, _ slot: Slot<Value>) {
            self.object = object
            self.slot = slot
            let cached = slot.cached
            cell = cached == nil ? nil : slot.cell
            version = cached?.version ?? 0
            value = cached?.reading.value ?? slot.key.defaultValue
            isDefault = cached?.reading.isDefault ?? true
        }

        /// True if the value is still what a reader gets.
        var isCurrent: Bool { cell?.version == version }

        fileprivate func refreshed<Value>(_ slot: Slot<Value>) -> Entry { Entry(object, slot) }
    }

    /// A key path or the rules of a key. A key path is never evaluated nor handed out, so its isolation does not matter.
    fileprivate struct RetainedObject: @unchecked Sendable {
        let object: AnyObject
    }

    /// An object that stands for a key of the stores with this number.
    struct Identity: Hashable, Sendable {
        let object: ObjectIdentifier
        let store: UInt

        /// The path of a key in a store.
        init(_ path: AnyKeyPath, in store: StoreInstance?) {
            object = ObjectIdentifier(path)
            self.store = store?.number ?? 0
        }

        init(_ rules: KeyRules) {
            object = ObjectIdentifier(rules)
            store = 0
        }

        fileprivate var shard: Int {
            Int(truncatingIfNeeded: (UInt(bitPattern: object) &* 0x9E37_79B9_7F4A_7C15) >> 61)
        }
    }

    private struct Named: Sendable {
        let slot: any AnyObject & Sendable
        let rules: KeyRules?
    }

    private struct TypedName: Hashable {
        let name: UTF8Text
        let type: ObjectIdentifier

        init<Value>(_ key: DefaultsKey<Value>) {
            name = UTF8Text(key.name)
            type = ObjectIdentifier(Value.self)
        }
    }

    private struct Shared: Sendable {
        var slots: [TypedName: [Named]] = [:]
        /// By equal path: the same literal at another place in the source may be another object.
        var paths: [StorePath: any AnyObject & Sendable] = [:]
        var stores: [StorePath: StoreInstance] = [:]
        /// The number of slots that were not made for a path.
        var nameCount = 0
        /// Of each type of values the first slot of a key without rules.
        var models: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// The path of a key or a store in a store.
    private struct StorePath: Hashable, @unchecked Sendable {
        let path: AnyKeyPath
        let store: UInt

        init(_ path: AnyKeyPath, in store: StoreInstance?) {
            self.path = path
            self.store = store?.number ?? 0
        }
    }

    /// At most so many slots of one name and type are kept: a subscript may make keys with ever other rules.
    private static let maxVariants = 8
    /// At most so many objects of a kind stand for one slot: a key path that captures, and the rules of a key that is
    /// made for its use, are another object each time.
    private static let maxObjects = 16
    /// At most so many slots are kept of keys that are given themselves: their names may be made at run time.
    private static let maxNames = 512

    private let session: SuiteSession
    private let arguments: LaunchArguments
    private let report: @Sendable (String, DefaultsError) -> Void
    /// Several locks chosen by key, so that threads that read other keys seldom wait for each other.
    private let shards = InlineArray<8, Mutex<[Identity: Entry]>> { _ in Mutex([:]) }
    private let shared = Mutex(Shared())

    init(
        session: SuiteSession, arguments: LaunchArguments, report: @escaping @Sendable (String, DefaultsError) -> Void
    ) {
        self.session = session
        self.arguments = arguments
        self.report = report
    }

    /// The number of objects that stand for slots.
    var entryCount: Int {
        shards.indices.reduce(0) { count, index in count + shards[index].withLock { $0.count } }
    }
}

/// By identity.
extension SlotTable {
    /// The entry of an object, if its value is still what a reader gets.
    func currentEntry(_ identity: Identity) -> Entry? {
        let entry = entry(identity)
        return entry?.isCurrent == true ? entry : nil
    }

    /// The slot that an object stands for.
    func slot<Value>(_ identity: Identity, of type: Value.Type) -> Slot<Value>? {
        entry(identity)?.slot as? Slot<Value>
    }

    private func entry(_ identity: Identity) -> Entry? {
        shards[identity.shard].withLock { $0[identity] }
    }

    /// Copies the slot's cached value to the entry of an object that stands for it.
    func refresh<Value>(_ identity: Identity, from slot: Slot<Value>) {
        guard slot.cached != nil, let old = entry(identity) else { return }
        let new = old.refreshed(slot)
        let replaced = shards[identity.shard].withLock { $0.updateValue(new, forKey: identity) }
        // Freed here, as that may run code of the program.
        withExtendedLifetime(replaced) {}
    }

    /// Adds an object that stands for a slot, unless enough do.
    private func add<Value>(
        _ object: AnyObject, _ identity: Identity, to slot: Slot<Value>, _ count: borrowing Atomic<Int>
    ) {
        guard count.load(ordering: .relaxed) < Self.maxObjects else { return }
        count.wrappingAdd(1, ordering: .relaxed)
        let new = Entry(RetainedObject(object: object), slot)
        shards[identity.shard].withLock { entries in
            if entries[identity] == nil { entries[identity] = new }
        }
    }
}

/// By key path.
extension SlotTable {
    /// The slot of a key path, whose default is that of the path's key.
    func slot<Store, Value>(
        _ path: KeyPath<Store, DefaultsKey<Value>>, in store: StoreInstance?, key: () -> DefaultsKey<Value>
    ) -> Slot<Value> {
        let identity = Identity(path, in: store)
        if let known = slot(identity, of: Value.self) { return known }
        let equal = StorePath(path, in: store)
        if let known = shared.withLock({ $0.paths[equal] }) as? Slot<Value> {
            add(path, identity, to: known, known.pathCount)
            return known
        }
        let key = key()
        guard let slot = sharedSlot(of: key, withDefault: true, isOfPath: true) else { return makeSlot(for: key) }
        if slot.pathCount.load(ordering: .relaxed) < Self.maxObjects {
            shared.withLock { $0.paths[equal] = slot }
            add(path, identity, to: slot, slot.pathCount)
        }
        return slot
    }

    /// A store within another that holds something. It is evaluated once for each path.
    func instance<Store, Inner: Sendable>(
        _ path: KeyPath<Store, Inner>, in store: StoreInstance?, evaluate: () -> Inner
    ) -> StoreInstance {
        let path = StorePath(path, in: store)
        if let known = shared.withLock({ $0.stores[path] }) { return known }
        let inner = evaluate()
        // Of two threads that get here at once, the first one's store counts.
        return shared.withLock { shared in
            if let known = shared.stores[path] { return known }
            let instance = StoreInstance(number: UInt(shared.stores.count + 1), store: inner)
            shared.stores[path] = instance
            return instance
        }
    }
}

/// By key.
extension SlotTable {
    /// The slot of a key by its name, type and rules.
    ///
    /// - Parameter needsDefault: true if the slot's default has to be the key's.
    func slot<Value>(for key: DefaultsKey<Value>, withDefault needsDefault: Bool = false) -> Slot<Value> {
        keptSlot(for: key, withDefault: needsDefault) ?? makeSlot(for: key)
    }

    /// The slot of a key; nil if it is one of too many, so that its slot is not kept.
    func keptSlot<Value>(for key: DefaultsKey<Value>, withDefault needsDefault: Bool = false) -> Slot<Value>? {
        let slot = sharedSlot(of: key, withDefault: needsDefault, isOfPath: false)
        if let slot, let rules = key.rules { add(rules, Identity(rules), to: slot, slot.rulesCount) }
        return slot
    }

    private func sharedSlot<Value>(
        of key: DefaultsKey<Value>, withDefault needsDefault: Bool, isOfPath: Bool
    ) -> Slot<Value>? {
        let name = TypedName(key)
        let known = shared.withLock { $0.slots[name] } ?? []
        if !needsDefault, let sure = known.first(where: { KeyRules.areSurelySame($0.rules, key.rules) }) {
            return sure.slot as? Slot<Value>
        }
        // Comparing lists of allowed values and defaults runs code of the program, so nothing is locked.
        for case let slot as Slot<Value> in known.lazy.map(\.slot)
        where slot.key.hasSameRules(as: key) && (!needsDefault || slot.key.hasSameDefault(as: key)) {
            return slot
        }
        guard known.count < Self.maxVariants, isOfPath || shared.withLock({ $0.nameCount < Self.maxNames }) else {
            return nil
        }
        let slot = makeSlot(for: key)
        shared.withLock { shared in
            if !isOfPath { shared.nameCount += 1 }
            shared.slots[name, default: []].append(Named(slot: slot, rules: key.rules))
        }
        return slot
    }

    /// Makes a slot that the table does not keep.
    func makeSlot<Value>(for key: DefaultsKey<Value>) -> Slot<Value> {
        let type = ObjectIdentifier(Value.self)
        // The compiled schema of a key without rules is the same for all of its type.
        let model = key.rules == nil ? shared.withLock { $0.models[type] } as? Slot<Value> : nil
        let slot = Slot(key, like: try? model?.codec.get(), session: session, arguments: arguments)
        switch slot.codec {
        case .failure(let error): report(key.name, error)
        case .success: if key.rules == nil, model == nil { shared.withLock { $0.models[type] = slot } }
        }
        return slot
    }
}

/// A store within an adapter's that holds something, so that the names of its keys may depend on the instance.
final class StoreInstance: Sendable {
    /// Tells its keys from those of other instances; 0 is for the adapter's own store and those that hold nothing.
    let number: UInt
    let store: any Sendable

    init(number: UInt, store: any Sendable) {
        self.number = number
        self.store = store
    }
}
