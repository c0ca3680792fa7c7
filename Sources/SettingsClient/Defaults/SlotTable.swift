internal import Glibc
internal import SettingsModel
internal import Synchronization

/// A table that finds the slot of a key, and the value that was read last.
///
/// Evaluating a computed key costs more than the rest of a read, so a key path is known by its identity: a key path
/// literal without captures is one object for the whole program. Other keys are known by name, type and rules: those that
/// differ in their defaults only share one slot, so a stored value is decoded once for all of them.
final class SlotTable: Sendable {
    /// The identity of the path of a key, in the stores with this number.
    struct Identity: Hashable, Sendable {
        let object: ObjectIdentifier
        let store: UInt

        init(_ path: AnyKeyPath, in store: StoreInstance?) {
            object = ObjectIdentifier(path)
            self.store = store?.number ?? 0
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(object)
        }
    }

    /// A key path that is neither evaluated nor handed out, so its isolation does not matter.
    private struct RetainedPath: Hashable, @unchecked Sendable {
        let path: AnyKeyPath
        let store: UInt
    }

    private struct TypedName: Hashable {
        let name: UTF8Text
        let type: ObjectIdentifier

        init<Value>(_ key: DefaultsKey<Value>) {
            name = UTF8Text(key.name)
            type = ObjectIdentifier(Value.self)
        }
    }

    /// A key path whose key was evaluated.
    private struct KnownPath: Sendable {
        /// Retained, so that no other object gets its identity.
        let path: RetainedPath
        let slot: any AnyObject & Sendable
        /// The default of the path's key, which is taken once.
        let defaultValue: any Sendable
    }

    private struct Shared: Sendable {
        var paths: [Identity: KnownPath] = [:]
        var slots: [TypedName: [any AnyObject & Sendable]] = [:]
        var stores: [RetainedPath: StoreInstance] = [:]
        /// The number of slots that were not made for a path.
        var nameCount = 0
        /// Of each type of values the first slot of a key without rules.
        var models: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// The values that were read last by the threads of a shard.
    private struct Shard: ~Copyable, Sendable {
        struct Values: Sendable {
            var byPath: [Identity: CachedValue] = [:]
            var byName: [TypedName: CachedValue] = [:]
        }

        let values = Mutex(Values())
        /// Keeps the locks of two shards apart in the processor's cache.
        private let padding = InlineArray<13, UInt64>(repeating: 0)
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
    /// Several, chosen by thread: threads that read at the same time, be it the same key, seldom wait for each other.
    private let shards = InlineArray<16, Shard> { _ in Shard() }
    private let shared = Mutex(Shared())

    init(
        session: SuiteSession, arguments: LaunchArguments, report: @escaping @Sendable (String, DefaultsError) -> Void
    ) {
        self.session = session
        self.arguments = arguments
        self.report = report
    }

    /// The number of key paths that are known by their identity.
    var pathCount: Int {
        shared.withLock { $0.paths.count }
    }
}

/// A value that was read, which holds as long as the key's cell has this version.
///
/// It has no type parameter: looking up the metadata of a generic type takes longer than the rest of a read, and threads
/// that do so at once wait for each other.
final class CachedValue: Sendable {
    /// True if it is the key's own default.
    let isDefault: Bool
    private let anyValue: any Sendable
    private let type: ObjectIdentifier
    private let rules: KeyRules?
    private let cell: KeyCell
    private let version: UInt64

    fileprivate init<Value>(_ reference: DefaultsReference<Value>, _ value: Value?, _ cell: KeyCell, _ version: UInt64)
    {
        anyValue = value ?? reference.defaultValue
        type = ObjectIdentifier(Value.self)
        isDefault = value == nil
        rules = reference.slot.key.rules
        self.cell = cell
        self.version = version
    }

    /// True if it is what a reader of a key of this type gets.
    fileprivate func isCurrent<Value>(_: Value.Type) -> Bool {
        cell.version == version && type == ObjectIdentifier(Value.self)
    }

    fileprivate func hasSameRules<Value>(as key: DefaultsKey<Value>) -> Bool {
        KeyRules.areSurelySame(rules, key.rules)
    }

    /// The value. The type is the one for which it was found.
    func value<Value>(as _: Value.Type) -> Value {
        // swift-format-ignore: NeverForceUnwrap
        anyValue as! Value
    }
}

/// Values that were read last.
extension SlotTable {
    private var shard: Int {
        Int(truncatingIfNeeded: (UInt(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    }

    /// The value of a path, if it is still what a reader gets.
    func cachedValue<Value>(_ path: Identity, as type: Value.Type) -> CachedValue? {
        let known = shards[shard].values.withLock { $0.byPath[path] }
        return known?.isCurrent(type) == true ? known : nil
    }

    /// The value of a key, if it is still what a reader gets.
    func cachedValue<Value>(_ key: DefaultsKey<Value>) -> CachedValue? {
        let name = TypedName(key)
        let known = shards[shard].values.withLock { $0.byName[name] }
        return known?.isCurrent(Value.self) == true && known?.hasSameRules(as: key) == true ? known : nil
    }

    /// Caches what was read by a path, or by a key whose slot the table keeps.
    func cache<Value>(_ reference: DefaultsReference<Value>, for path: Identity?) {
        let slot = reference.slot
        guard let (version, reading) = slot.cached, let cell = slot.cell else { return }
        let new = CachedValue(reference, reading.value, cell, version)
        let isKnownPath = path.map { path in shared.withLock { $0.paths[path] != nil } }
        let name = TypedName(slot.key)
        let replaced = shards[shard].values.withLock { values -> CachedValue? in
            guard let path else { return values.byName.updateValue(new, forKey: name) }
            return isKnownPath == true ? values.byPath.updateValue(new, forKey: path) : nil
        }
        // Freed here, as that may run code of the program.
        withExtendedLifetime(replaced) {}
    }
}

/// By key path.
extension SlotTable {
    /// The slot of a key path, and the default of its key.
    func resolve<Store, Value>(
        _ path: KeyPath<Store, DefaultsKey<Value>>, in store: StoreInstance?, key: () -> DefaultsKey<Value>
    ) -> (slot: Slot<Value>, defaultValue: Value) {
        let identity = Identity(path, in: store)
        if let known = shared.withLock({ $0.paths[identity] }), let slot = known.slot as? Slot<Value>,
            case let defaultValue as Value = known.defaultValue
        {
            return (slot, defaultValue)
        }
        let key = key()
        guard let slot = sharedSlot(of: key, isOfPath: true) else { return (makeSlot(for: key), key.defaultValue) }
        if slot.pathCount.wrappingAdd(1, ordering: .relaxed).oldValue < Self.maxPaths {
            let known = KnownPath(
                path: RetainedPath(path: path, store: identity.store), slot: slot, defaultValue: key.defaultValue)
            shared.withLock { shared in
                if shared.paths[identity] == nil { shared.paths[identity] = known }
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
