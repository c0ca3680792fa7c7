internal import SettingsModel
internal import Synchronization

/// A table that finds the slot of a key.
///
/// Evaluating a computed key costs more than the rest of a read, so a key path is known by its identity: a key path
/// literal without captures is one object for the whole program. Other keys are known by name, type and rules: those that
/// differ in their defaults only share one slot, so a stored value is decoded once for all of them.
final class SlotTable: Sendable {
    /// A key path with its slot, and the value that was read through it last.
    final class Entry: Sendable {
        let slot: any AnyObject & Sendable
        /// The default of the path's key, which is taken once.
        let defaultValue: any Sendable
        let value: any Sendable
        /// Retained, so that no other object gets its identity.
        private let path: RetainedPath
        private let cell: KeyCell?
        private let version: UInt64

        fileprivate init<Value>(_ path: RetainedPath, _ slot: Slot<Value>, default defaultValue: Value) {
            self.path = path
            self.slot = slot
            self.defaultValue = defaultValue
            let cached = slot.cached
            cell = cached == nil ? nil : slot.cell
            version = cached?.version ?? 0
            value = cached?.reading.value ?? defaultValue
        }

        /// True if the value is still what a reader gets.
        var isCurrent: Bool { cell?.version == version }

        fileprivate func refreshed<Value>(_ slot: Slot<Value>, default defaultValue: Value) -> Entry {
            Entry(path, slot, default: defaultValue)
        }
    }

    /// A key path that is neither evaluated nor handed out, so its isolation does not matter.
    fileprivate struct RetainedPath: Hashable, @unchecked Sendable {
        let path: AnyKeyPath
        let store: UInt
    }

    /// The identity of the path of a key, in the stores with this number.
    struct Identity: Hashable, Sendable {
        let object: ObjectIdentifier
        let store: UInt

        init(_ path: AnyKeyPath, in store: StoreInstance?) {
            object = ObjectIdentifier(path)
            self.store = store?.number ?? 0
        }

        fileprivate var shard: Int {
            Int(truncatingIfNeeded: (UInt(bitPattern: object) &* 0x9E37_79B9_7F4A_7C15) >> 61)
        }
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
        var slots: [TypedName: [any AnyObject & Sendable]] = [:]
        var stores: [RetainedPath: StoreInstance] = [:]
        /// The number of slots that were not made for a path.
        var nameCount = 0
        /// Of each type of values the first slot of a key without rules.
        var models: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// At most so many slots of one name and type are kept: a subscript may make keys with ever other rules.
    private static let maxVariants = 8
    /// At most so many key paths are kept for one slot: one that captures is another object each time.
    private static let maxPaths = 16
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

    /// The number of key paths that are known by their identity.
    var entryCount: Int {
        shards.indices.reduce(0) { count, index in count + shards[index].withLock { $0.count } }
    }
}

/// By key path.
extension SlotTable {
    /// The entry of a path, if its value is still what a reader gets.
    func currentEntry(_ identity: Identity) -> Entry? {
        let entry = entry(identity)
        return entry?.isCurrent == true ? entry : nil
    }

    private func entry(_ identity: Identity) -> Entry? {
        shards[identity.shard].withLock { $0[identity] }
    }

    /// Copies the slot's cached value to the entry of a path.
    func refresh<Value>(_ identity: Identity, from slot: Slot<Value>, default defaultValue: Value) {
        guard slot.cached != nil, let old = entry(identity) else { return }
        let new = old.refreshed(slot, default: defaultValue)
        let replaced = shards[identity.shard].withLock { $0.updateValue(new, forKey: identity) }
        // Freed here, as that may run code of the program.
        withExtendedLifetime(replaced) {}
    }

    /// The slot of a key path, and the default of its key.
    func resolve<Store, Value>(
        _ path: KeyPath<Store, DefaultsKey<Value>>, in store: StoreInstance?, key: () -> DefaultsKey<Value>
    ) -> (slot: Slot<Value>, defaultValue: Value) {
        let identity = Identity(path, in: store)
        if let entry = entry(identity), let slot = entry.slot as? Slot<Value>,
            case let defaultValue as Value = entry.defaultValue
        {
            return (slot, defaultValue)
        }
        let key = key()
        guard let slot = sharedSlot(of: key, isOfPath: true) else { return (makeSlot(for: key), key.defaultValue) }
        if slot.pathCount.wrappingAdd(1, ordering: .relaxed).oldValue < Self.maxPaths {
            let path = RetainedPath(path: path, store: identity.store)
            let new = Entry(path, slot, default: key.defaultValue)
            shards[identity.shard].withLock { entries in
                if entries[identity] == nil { entries[identity] = new }
            }
        }
        return (slot, key.defaultValue)
    }

    /// A store within another that holds something. It is evaluated once for each path.
    func instance<Store, Inner: Sendable>(
        _ path: KeyPath<Store, Inner>, in store: StoreInstance?, evaluate: () -> Inner
    ) -> StoreInstance {
        let path = RetainedPath(path: path, store: store?.number ?? 0)
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
    func slot<Value>(for key: DefaultsKey<Value>) -> Slot<Value> {
        keptSlot(for: key) ?? makeSlot(for: key)
    }

    /// The slot of a key; nil if it is one of too many, so that its slot is not kept.
    func keptSlot<Value>(for key: DefaultsKey<Value>) -> Slot<Value>? {
        sharedSlot(of: key, isOfPath: false)
    }

    private func sharedSlot<Value>(of key: DefaultsKey<Value>, isOfPath: Bool) -> Slot<Value>? {
        let name = TypedName(key)
        let (known, nameCount) = shared.withLock { ($0.slots[name] ?? [], $0.nameCount) }
        // Comparing lists of allowed values runs code of the program, so nothing is locked.
        for case let slot as Slot<Value> in known where slot.key.hasSameRules(as: key) { return slot }
        guard known.count < Self.maxVariants, isOfPath || nameCount < Self.maxNames else { return nil }
        let slot = makeSlot(for: key)
        shared.withLock { shared in
            if !isOfPath { shared.nameCount += 1 }
            shared.slots[name, default: []].append(slot)
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
