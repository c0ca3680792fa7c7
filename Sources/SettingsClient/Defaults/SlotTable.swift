internal import SettingsKeys
internal import Synchronization

/// A table that finds the slot of a key.
///
/// Evaluating a computed key costs more than the rest of a read, so a key path is known by its identity: a key path
/// literal without captures is one object for the whole program. Other keys are known by name, type and rules: those that
/// differ in their defaults only share one slot, so a stored value is decoded once for all of them.
final class SlotTable: Sendable {
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
        var paths: [PathIdentity: KnownPath] = [:]
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

    /// True if the table retains a path, so that no other object gets its identity.
    func knows(_ path: PathIdentity) -> Bool {
        shared.withLock { $0.paths[path] != nil }
    }
}

/// By key path.
extension SlotTable {
    /// The slot of a key path, and the default of its key.
    func resolve<Store, Value>(
        _ path: KeyPath<Store, DefaultsKey<Value>>, in store: StoreInstance?, key: () -> DefaultsKey<Value>
    ) -> (slot: Slot<Value>, defaultValue: Value) {
        let identity = PathIdentity(path, in: store)
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
        if let problem = slot.argumentProblem {
            let argument = arguments.spelling(of: key.name, hidesValue: key.traits.isSecret)
            report(key.name, .invalidArgument(argument, problem))
        }
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
