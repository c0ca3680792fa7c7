internal import Platform
internal import SettingsKeys
internal import Synchronization

/// A cache of the values that were read last, by key path and by name.
///
/// Its shards are chosen by thread: threads that read at the same time, be it the same key, seldom wait for each other.
struct ValueCache: ~Copyable, Sendable {
    // Not private: the compiler crashes otherwise (6.3.1, in debug builds).
    struct Shard: ~Copyable, Sendable {
        fileprivate let table = Mutex(Table())
        /// Keeps the locks of two shards apart in the processor's cache.
        private let padding = InlineArray<5, UInt64>(repeating: 0)
    }

    /// A hash table that only grows, with linear probing. The hash of a `Dictionary` takes longer than the rest of a read.
    struct Table: Sendable {
        private var values: [CachedValue?] = []
        private var count = 0

        fileprivate func first(_ hash: UInt, where isSought: (CachedValue) -> Bool) -> CachedValue? {
            guard !values.isEmpty else { return nil }
            var index = hash & UInt(values.count - 1)
            while let value = values[Int(index)] {
                if value.hash == hash, isSought(value) { return value }
                index = (index + 1) & UInt(values.count - 1)
            }
            return nil
        }

        /// Adds a value, and returns the one that it replaces.
        fileprivate mutating func insert(_ value: CachedValue) -> CachedValue? {
            if 2 * count >= values.count {
                let old = values
                values = Array(repeating: nil, count: max(4, 2 * old.count))
                for case let value? in old { values[place(of: value)] = value }
            }
            let place = place(of: value)
            defer { values[place] = value }
            if values[place] == nil { count += 1 }
            return values[place]
        }

        private func place(of new: CachedValue) -> Int {
            var index = new.hash & UInt(values.count - 1)
            while let value = values[Int(index)], !value.hasSamePlace(as: new) {
                index = (index + 1) & UInt(values.count - 1)
            }
            return Int(index)
        }
    }

    private let shards = InlineArray<32, Shard> { _ in Shard() }

    private var shard: Int {
        Int(truncatingIfNeeded: (CurrentThread.identifier &* 0x9E37_79B9_7F4A_7C15) >> 59)
    }

    /// The value of a path, if it is still what a reader gets.
    func value(of path: PathIdentity) -> CachedValue? {
        let found = shards[shard].table.withLock { $0.first(path.hash) { $0.path == path } }
        guard let found, found.isCurrent else { return nil }
        return found
    }

    /// The value of a key by its name, type and rules, if it is still what a reader gets.
    func value<Value>(of key: DefaultsKey<Value>) -> CachedValue? {
        let type = ObjectIdentifier(Value.self)
        let found = shards[shard].table.withLock { table in
            table.first(key.name.quickHash) { $0.isNamed(key.name, type) }
        }
        guard let found, found.isCurrent, found.hasSameRules(as: key) else { return nil }
        return found
    }

    func insert(_ value: CachedValue) {
        let replaced = shards[shard].table.withLock { $0.insert(value) }
        // Freed here, as that may run code of the program.
        withExtendedLifetime(replaced) {}
    }
}

/// The identity of a key path in a store. Evaluating a computed key costs more than the rest of a read, and a key path
/// literal without captures is one object for the whole program.
struct PathIdentity: Hashable, Sendable {
    private let object: ObjectIdentifier
    /// Tells the stores within the adapter's from each other.
    let store: UInt

    init(_ path: AnyKeyPath, in store: StoreInstance?) {
        object = ObjectIdentifier(path)
        self.store = store?.number ?? 0
    }

    /// Objects lie at multiples of 16.
    var hash: UInt {
        (UInt(bitPattern: object) ^ store) &* 0x9E37_79B9_7F4A_7C15 >> 32
    }
}

/// A value that was read, which holds as long as the key's cell has this version.
///
/// It has no type parameter: looking up the metadata of a generic type takes longer than the rest of a read, and threads
/// that do so at once wait for each other.
final class CachedValue: Sendable {
    /// True if it is the key's own default.
    let isDefault: Bool
    /// The path by which it was read; nil if it was read by its key.
    fileprivate let path: PathIdentity?
    fileprivate let hash: UInt
    private let name: String
    private let type: ObjectIdentifier
    private let rules: KeyRules?
    private let value: any DefaultsSerializable
    private let cell: KeyCell
    private let version: UInt64

    /// Nil if the setting was changed since it was read.
    ///
    /// - Parameter rules: those of the key that was given: if it is given again, they need not be compared.
    init?<Value>(_ reference: DefaultsReference<Value>, by path: PathIdentity? = nil, rules: KeyRules? = nil) {
        let slot = reference.slot
        guard let (version, reading) = slot.cached, let cell = slot.cell else { return nil }
        self.path = path
        name = slot.key.name
        hash = path?.hash ?? name.quickHash
        type = ObjectIdentifier(Value.self)
        self.rules = rules
        value = reading.value ?? reference.defaultValue
        isDefault = reading.value == nil
        self.cell = cell
        self.version = version
    }

    fileprivate var isCurrent: Bool { cell.version == version }

    fileprivate func isNamed(_ name: String, _ type: ObjectIdentifier) -> Bool {
        path == nil && self.type == type && self.name.hasSameBytes(as: name)
    }

    fileprivate func hasSamePlace(as other: CachedValue) -> Bool {
        path == nil ? other.isNamed(name, type) : path == other.path
    }

    fileprivate func hasSameRules<Value>(as key: DefaultsKey<Value>) -> Bool {
        KeyRules.areSurelySame(rules, key.rules)
    }

    /// The value. The type is the one with which it was read.
    func value<Value>(as type: Value.Type) -> Value {
        value.cast(to: type)
    }
}

extension DefaultsSerializable {
    /// Casts a value to its own type. With that type at hand it takes a comparison, unlike a cast of an existential.
    fileprivate func cast<Value>(to _: Value.Type) -> Value {
        // swift-format-ignore: NeverForceUnwrap
        self as! Value
    }
}

extension String {
    /// A hash of the bytes (FNV-1a), for names that a program gives itself.
    fileprivate var quickHash: UInt {
        var hash: UInt = 0xCBF2_9CE4_8422_2325
        let bytes = utf8Span.span
        for index in bytes.indices { hash = (hash ^ UInt(bytes[index])) &* 0x100_0000_01B3 }
        return hash >> 32
    }
}

/// Reading by a plain getter. What is not cached is read apart: its generic code looks up metadata, which takes longer.
extension DefaultsScope {
    @inline(never)
    func readSlot<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        let reference = reference(path)
        let identity = PathIdentity(path, in: instance)
        let value = reference.value
        if core.slots.knows(identity), let read = CachedValue(reference, by: identity) { core.values.insert(read) }
        return value
    }
}

extension AdapterCore {
    func value<Value>(_ key: DefaultsKey<Value>) -> Value {
        guard let cached = values.value(of: key) else { return readSlot(key) }
        return cached.isDefault ? key.defaultValue : cached.value(as: Value.self)
    }

    @inline(never)
    private func readSlot<Value>(_ key: DefaultsKey<Value>) -> Value {
        func reference(_ slot: Slot<Value>) -> DefaultsReference<Value> {
            DefaultsReference(core: self, slot: slot, defaultValue: key.defaultValue)
        }
        if let slot = slots.keptSlot(for: key) {
            let reference = reference(slot)
            let value = reference.value
            if let read = CachedValue(reference, rules: key.rules) { values.insert(read) }
            return value
        }
        guard let name = try? KeyName(key.name) else { return reference(slots.makeSlot(for: key)).value }
        // The table does not keep this key, so the replica does not keep its cell.
        return session.withCell(for: name) { _ in reference(slots.makeSlot(for: key)).value }
    }
}
