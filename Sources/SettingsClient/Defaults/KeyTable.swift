internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// The resolved keys of an adapter, the last reading of each key path, and the nested stores. A ``ResolvedKey`` is a
/// key with its state in the adapter. A reading is the cached result of reading a key (``CachedReading``). The stores
/// of the table are nested key stores with stored properties (``StoreInstance``).
///
/// Without the table, a read with a key path would spend most of its time on the computed property that creates the
/// key. The table finds the last reading by the identity of the key path object. This works because the compiler
/// creates one object for each key path literal without captures. Keys of the same name, type and rules share one
/// resolved key, so the adapter decodes a stored value once for all these keys.
///
/// The table has a maximum size, because a program may create names and key paths at run time. When there are too many
/// resolved keys, the table removes all keys and readings. When there are too many readings, it removes all readings.
/// When there are too many stores, it removes all stores.
final class KeyTable: Sendable {
    private struct TypedName: Hashable {
        let name: UTF8Text
        let type: ObjectIdentifier
    }

    private struct Contents: Sendable {
        var readings: [PathIdentity: CachedReading] = [:]
        /// The resolved keys by name and type. Keys with the same name and type differ in their rules.
        var resolved: [TypedName: [any AnyObject & Sendable]] = [:]
        /// The number of resolved keys.
        var keyCount = 0
        /// The nested stores that have stored properties, with their key paths. The table retains a key path so that no
        /// other object gets its identity.
        var stores: [PathIdentity: (path: RetainedPath, instance: StoreInstance)] = [:]
        /// The number of the newest store.
        var lastStoreNumber: UInt = 0
        /// For each type of values, a resolved key without rules. Other keys of the type without rules share the
        /// compiled schema of this key's codec. `removeAllKeys` keeps these resolved keys.
        var schemaOwners: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// The table keeps at most this number of resolved keys, of readings, and of stores.
    static let capacity = 4096
    /// The table keeps at most this number of resolved keys with the same name and type.
    private static let maxVariants = 8

    private let session: SuiteSession
    private let arguments: LaunchArguments
    private let report: @Sendable (String, DefaultsError) -> Void
    private let contents = Mutex(Contents())

    init(
        session: SuiteSession, arguments: LaunchArguments, report: @escaping @Sendable (String, DefaultsError) -> Void
    ) {
        self.session = session
        self.arguments = arguments
        self.report = report
    }

    /// The number of resolved keys, readings and stores.
    var count: Int {
        contents.withLock { $0.keyCount + $0.readings.count + $0.stores.count }
    }

    /// Returns the last reading of a key path, and registers a read for Swift's Observation. Returns nil if there is no
    /// valid reading.
    func reading(_ path: AnyKeyPath, in store: StoreInstance?) -> CachedReading? {
        let identity = PathIdentity(path, in: store)
        guard let reading = contents.withLock({ $0.readings[identity] }), reading.isValid else { return nil }
        reading.registerRead()
        return reading
    }

    /// Stores a reading for the next read with the same key path. The reading must retain the key path, so that no
    /// other object gets its identity.
    func cache(_ reading: CachedReading, by path: AnyKeyPath, in store: StoreInstance?) {
        let identity = PathIdentity(path, in: store)
        // The release of a value may run code of the program, so the values are released without the lock.
        let old = contents.withLock { contents in
            let old = contents.readings.count < Self.capacity ? [:] : contents.readings
            if !old.isEmpty { contents.readings = [:] }
            return (old, contents.readings.updateValue(reading, forKey: identity))
        }
        withExtendedLifetime(old) {}
    }

    /// Returns the resolved key of a key. The first call for keys with the same name, type and rules creates it.
    func resolve<Value>(_ key: DefaultsKey<Value>) -> ResolvedKey<Value> {
        let name = TypedName(name: UTF8Text(key.name), type: ObjectIdentifier(Value.self))
        let variants = contents.withLock { $0.resolved[name] ?? [] }
        // The comparison of allowed values runs code of the program, so it happens without the lock.
        for case let resolved as ResolvedKey<Value> in variants where resolved.key.hasSameRules(as: key) {
            return resolved
        }
        let resolved = makeResolvedKey(key, type: name.type)
        let (oldest, isFull) = contents.withLock { contents -> ((any AnyObject & Sendable)?, Bool) in
            contents.resolved[name, default: []].append(resolved)
            if let variants = contents.resolved[name], variants.count > Self.maxVariants {
                return (contents.resolved[name]?.removeFirst(), false)
            }
            contents.keyCount += 1
            return (nil, contents.keyCount > Self.capacity)
        }
        // The release of a value may run code of the program, so the oldest key is released without the lock.
        withExtendedLifetime(oldest) {}
        if isFull { removeAllKeys() }
        return resolved
    }

    private func makeResolvedKey<Value>(_ key: DefaultsKey<Value>, type: ObjectIdentifier) -> ResolvedKey<Value> {
        // The compiled schemas of keys that have the same type and no rules differ only in their defaults.
        let schemaOwner = key.rules == nil ? contents.withLock { $0.schemaOwners[type] } as? ResolvedKey<Value> : nil
        let resolved = ResolvedKey(
            key, sharingSchemaOf: try? schemaOwner?.codec.get(), session: session, arguments: arguments)
        if let problem = resolved.argumentProblem {
            let argument = arguments.spelling(of: key.name, hidesValue: key.traits.isSecret)
            report(key.name, .invalidArgument(argument, problem))
        }
        switch resolved.codec {
        case .failure(let error): report(key.name, error)
        case .success:
            if key.rules == nil, schemaOwner == nil { contents.withLock { $0.schemaOwners[type] = resolved } }
        }
        return resolved
    }

    /// Returns the nested store at a key path. The store has stored properties. The first call evaluates the key path.
    func storeInstance<Inner: Sendable>(
        _ path: AnyKeyPath, in store: StoreInstance?, evaluate: () -> Inner
    ) -> StoreInstance {
        let identity = PathIdentity(path, in: store)
        if let known = contents.withLock({ $0.stores[identity]?.instance }) { return known }
        let inner = evaluate()
        // The release of a store may run code of the program, so the stores are released without the lock.
        var old: [PathIdentity: (path: RetainedPath, instance: StoreInstance)] = [:]
        return contents.withLock { contents in
            // If two threads evaluate the store at the same time, both use the instance of the first thread.
            if let known = contents.stores[identity]?.instance { return known }
            if contents.stores.count >= Self.capacity { swap(&old, &contents.stores) }
            contents.lastStoreNumber += 1
            let instance = StoreInstance(number: contents.lastStoreNumber, store: inner)
            contents.stores[identity] = (RetainedPath(path: path), instance)
            return instance
        }
    }

    /// Removes the resolved keys, and announces a change of every key. Functions that track values with Observation
    /// then read the values again, and so track the new resolved keys.
    private func removeAllKeys() {
        removeKeysAndAnnounce()
        // `removeKeysAndAnnounce` has released the resolved keys, except the keys in `schemaOwners`, and with them
        // their cells (``KeyCell``). So the replica can now remove the entries that have no cell, no value and no
        // pending write.
        session.forgetUnusedEntries()
    }

    private func removeKeysAndAnnounce() {
        let old = contents.withLock { contents in
            let old = contents
            contents.resolved = [:]
            contents.keyCount = 0
            contents.readings = [:]
            return old
        }
        // The resolved keys retain the trackers (`ValueTracker`), which announce the changes to Swift's Observation.
        // The release of the resolved keys may run code of the program, so it happens after the announcement and
        // without the lock.
        withExtendedLifetime(old) { session.announceAllKeys() }
    }
}

/// The identity of a key path in a store.
struct PathIdentity: Hashable, Sendable {
    private let path: ObjectIdentifier
    /// The number of the nested store. 0 for the adapter's own store and for stores without stored properties.
    private let store: UInt

    init(_ path: AnyKeyPath, in store: StoreInstance?) {
        self.path = ObjectIdentifier(path)
        self.store = store?.number ?? 0
    }

    /// Returns the hash that a dictionary uses. The default implementation resists keys that an attacker chooses. An
    /// attacker cannot choose key paths, and the default implementation would take a quarter of the time of a read. The
    /// factor is 2^64 divided by the golden ratio, which spreads similar addresses over all hashes.
    // swift-format-ignore: NoLeadingUnderscores
    func _rawHashValue(seed: Int) -> Int {
        let hash = (UInt(bitPattern: path) ^ store &* 0x9E37_79B9_7F4A_7C15) &* 0x9E37_79B9_7F4A_7C15
        return Int(bitPattern: hash ^ hash >> 32)
    }
}

/// A nested store that has stored properties, so that the names of its keys may depend on the instance.
final class StoreInstance: Sendable {
    let number: UInt
    let store: any Sendable

    init(number: UInt, store: any Sendable) {
        self.number = number
        self.store = store
    }
}
