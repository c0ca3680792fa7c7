internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// The resolved keys of an adapter, and their last readings by key path. A `ResolvedKey` is a key with its state in the
/// adapter.
///
/// Without the table, a read with a key path would spend most of its time on the computed property that creates the
/// key. The table finds the last reading by the identity of the key path: the compiler creates one object for each key
/// path literal without captures. Keys of the same name, type and rules share one resolved key, so a stored value is
/// decoded once for all of them.
///
/// The table has a maximum size, because a program may create names and key paths at run time. When there are too many
/// resolved keys, the table removes all keys and readings. When there are too many readings, it removes all readings;
/// when there are too many stores, it removes all stores.
final class KeyTable: Sendable {
    private struct TypedName: Hashable {
        let name: UTF8Text
        let type: ObjectIdentifier
    }

    private struct Contents: Sendable {
        var readings: [PathIdentity: CachedReading] = [:]
        /// The resolved keys of a name and a type, which differ in their rules.
        var resolved: [TypedName: [any AnyObject & Sendable]] = [:]
        /// The number of resolved keys.
        var keyCount = 0
        var stores: [PathIdentity: (path: RetainedPath, instance: StoreInstance)] = [:]
        /// The number that the newest store has.
        var storeCount: UInt = 0
        /// For each type of values, the first resolved key of a key without rules. Other keys without rules share the
        /// compiled schema of its codec.
        var schemaOwners: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// The table keeps at most this number of resolved keys, of readings, and of stores.
    static let capacity = 4096
    /// The table keeps at most this number of resolved keys of one name and type, which differ in their rules.
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

    var count: Int {
        contents.withLock { $0.keyCount + $0.readings.count + $0.stores.count }
    }

    /// The last reading by a key path, if it is still valid.
    func reading(_ path: AnyKeyPath, in store: StoreInstance?) -> CachedReading? {
        let identity = PathIdentity(path, in: store)
        guard let reading = contents.withLock({ $0.readings[identity] }), reading.isValid else { return nil }
        reading.registerRead()
        return reading
    }

    /// Stores a reading for the next read with the same key path.
    ///
    /// - Parameter path: the key path. The reading retains it, so that no other object gets the identity of the path.
    func cache(_ reading: CachedReading, by path: AnyKeyPath, in store: StoreInstance?) {
        let identity = PathIdentity(path, in: store)
        // The deinitializer of a value may run code of the program, so values are released without the lock.
        let old = contents.withLock { contents in
            let old = contents.readings.count < Self.capacity ? [:] : contents.readings
            if !old.isEmpty { contents.readings = [:] }
            return (old, contents.readings.updateValue(reading, forKey: identity))
        }
        withExtendedLifetime(old) {}
    }

    /// Returns the resolved key of a key. Creates it at the first call.
    func resolve<Value>(_ key: DefaultsKey<Value>) -> ResolvedKey<Value> {
        let name = TypedName(name: UTF8Text(key.name), type: ObjectIdentifier(Value.self))
        let known = contents.withLock { $0.resolved[name] ?? [] }
        // The comparison of allowed values runs code of the program, so no lock is held.
        for case let resolved as ResolvedKey<Value> in known where resolved.key.hasSameRules(as: key) {
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
        // The deinitializer of a value may run code of the program, so values are released without the lock.
        withExtendedLifetime(oldest) {}
        if isFull { removeAllKeys() }
        return resolved
    }

    private func makeResolvedKey<Value>(_ key: DefaultsKey<Value>, type: ObjectIdentifier) -> ResolvedKey<Value> {
        // The compiled schema of a key without rules is the same for all keys of its type.
        let model = key.rules == nil ? contents.withLock { $0.schemaOwners[type] } as? ResolvedKey<Value> : nil
        let resolved = ResolvedKey(
            key, sharingSchemaOf: try? model?.codec.get(), session: session, arguments: arguments)
        if let problem = resolved.argumentProblem {
            let argument = arguments.spelling(of: key.name, hidesValue: key.traits.isSecret)
            report(key.name, .invalidArgument(argument, problem))
        }
        switch resolved.codec {
        case .failure(let error): report(key.name, error)
        case .success: if key.rules == nil, model == nil { contents.withLock { $0.schemaOwners[type] = resolved } }
        }
        return resolved
    }

    /// Returns the instance of a nested store that has stored properties. It is evaluated once for each key path.
    func instance<Inner: Sendable>(
        _ path: AnyKeyPath, in store: StoreInstance?, evaluate: () -> Inner
    ) -> StoreInstance {
        let identity = PathIdentity(path, in: store)
        if let known = contents.withLock({ $0.stores[identity]?.instance }) { return known }
        let inner = evaluate()
        // The deinitializer of a store may run code of the program, so stores are released without the lock.
        var old: [PathIdentity: (path: RetainedPath, instance: StoreInstance)] = [:]
        return contents.withLock { contents in
            // If two threads evaluate the store at the same time, both use the instance of the first thread.
            if let known = contents.stores[identity]?.instance { return known }
            if contents.stores.count >= Self.capacity { swap(&old, &contents.stores) }
            contents.storeCount += 1
            let instance = StoreInstance(number: contents.storeCount, store: inner)
            contents.stores[identity] = (RetainedPath(path: path), instance)
            return instance
        }
    }

    /// Removes the resolved keys, and announces a change of every key. Functions that track values with Observation
    /// then read the values again and track the new resolved keys.
    private func removeAllKeys() {
        removeKeysAndAnnounce()
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
        // The resolved keys own the trackers, so they are released after the announcement, and without the lock.
        withExtendedLifetime(old) { session.announceAllKeys() }
    }
}

/// The identity of a key path in a store.
struct PathIdentity: Hashable, Sendable {
    private let path: ObjectIdentifier
    /// The number of the store. 0 for the adapter's own store and for stores without stored properties.
    private let store: UInt

    init(_ path: AnyKeyPath, in store: StoreInstance?) {
        self.path = ObjectIdentifier(path)
        self.store = store?.number ?? 0
    }

    /// The hash that a dictionary uses. The default implementation protects against keys that an attacker chooses. An
    /// attacker cannot choose key paths, and the default implementation would take a quarter of the time of a read.
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
