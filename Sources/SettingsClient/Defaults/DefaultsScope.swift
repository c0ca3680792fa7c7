internal import SettingsModel

/// The keys of one store within an adapter's: what `Defaults.player` is.
///
/// It has what the adapter has for keys, and hides keys of the same names.
@dynamicMemberLookup
public struct DefaultsScope<KeyStore: Sendable>: KeyedAccess {
    let core: AdapterCore
    /// Nil for the adapter's own store, and for stores that hold nothing: all of one type have the same keys.
    let instance: StoreInstance?

    /// The scope itself.
    public static func scope(of access: DefaultsScope) -> DefaultsScope { access }

    /// The store whose keys these are.
    var keyStore: KeyStore {
        if let store = (instance?.store ?? core.keyStore) as? KeyStore { return store }
        guard let empty = (KeyStore.self as? any DefaultsKeyStore.Type)?.init() as? KeyStore else {
            preconditionFailure("a scope without an instance is of the adapter's store or of one that holds nothing")
        }
        return empty
    }

    func reference<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> DefaultsReference<Value> {
        let (slot, defaultValue) = core.slots.resolve(path, in: instance) { keyStore[keyPath: path] }
        return DefaultsReference(core: core, slot: slot, defaultValue: defaultValue)
    }

    /// The scope of a store within this one.
    func inner<Inner: DefaultsKeyStore>(_ path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> {
        if MemoryLayout<Inner>.size == 0 {
            assertHasPrefix(Inner.self)
            return DefaultsScope<Inner>(core: core, instance: nil)
        }
        let inner = core.slots.instance(path, in: instance) {
            assertHasPrefix(Inner.self)
            return keyStore[keyPath: path]
        }
        return DefaultsScope<Inner>(core: core, instance: inner)
    }

    private func assertHasPrefix(_ inner: any DefaultsKeyStore.Type) {
        assert(prefixProblem(inner) == nil, prefixProblem(inner) ?? "")
    }

    private func prefixProblem(_ inner: any DefaultsKeyStore.Type) -> String? {
        (KeyStore.self as? any DefaultsKeyStore.Type).flatMap { nestedStoreProblem(inner, in: $0) }
    }

    /// The value of a key for a plain getter.
    func read<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        let identity = SlotTable.Identity(path, in: instance)
        if let entry = core.slots.currentEntry(identity), case let value as Value = entry.value { return value }
        return readSlot(path, identity)
    }

    // Apart from the fast path, whose generic code would look up the metadata of what is used here.
    @inline(never)
    private func readSlot<Value>(
        _ path: KeyPath<KeyStore, DefaultsKey<Value>>, _ identity: SlotTable.Identity
    ) -> Value {
        let reference = reference(path)
        let value = reference.value
        core.slots.refresh(identity, from: reference.slot, default: reference.defaultValue)
        return value
    }
}
