internal import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// The keys of an adapter that were resolved, by key path and by name.
///
/// Evaluating a computed key takes longer than the rest of a read, so the table finds a key path by its identity: a key path
/// literal without captures is one object for the whole program. Keys of the same name, type and rules share one resolved key,
/// so a stored value is decoded once for all of them.
///
/// The table is bounded: a program may make names and key paths at run time. When it is full, it forgets everything.
final class KeyTable: Sendable {
    private struct TypedName: Hashable {
        let name: UTF8Text
        let type: ObjectIdentifier
    }

    private struct Contents: Sendable {
        var readings: [PathIdentity: CachedReading] = [:]
        var resolved: [TypedName: [any AnyObject & Sendable]] = [:]
        var keyCount = 0
        var stores: [PathIdentity: (path: RetainedPath, instance: StoreInstance)] = [:]
        var storeCount: UInt = 0
        /// For each type of values, the first resolved key of a key without rules. Other resolved keys share its codec.
        var models: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    /// The table keeps at most this number of resolved keys, and of key paths.
    static let capacity = 4096
    /// The table keeps at most this number of resolved keys of one name and type, which differ in their rules.
    private static let mostVariants = 8

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

    /// The number of resolved keys and key paths.
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

    /// - Parameter path: the key path that the reading retains.
    func keep(_ reading: CachedReading, by path: AnyKeyPath, in store: StoreInstance?) {
        let identity = PathIdentity(path, in: store)
        // Values of the program are freed without the lock.
        let old = contents.withLock { contents in
            let old = contents.readings.count < Self.capacity ? [:] : contents.readings
            if !old.isEmpty { contents.readings = [:] }
            return (old, contents.readings.updateValue(reading, forKey: identity))
        }
        withExtendedLifetime(old) {}
    }

    /// The resolved key of a key.
    func resolve<Value>(_ key: DefaultsKey<Value>) -> ResolvedKey<Value> {
        let name = TypedName(name: UTF8Text(key.name), type: ObjectIdentifier(Value.self))
        let known = contents.withLock { $0.resolved[name] ?? [] }
        // The comparison of allowed values runs code of the program, so no lock is held.
        for case let resolved as ResolvedKey<Value> in known where resolved.key.hasSameRules(as: key) {
            return resolved
        }
        let resolved = make(key, name.type)
        let (oldest, isFull) = contents.withLock { contents -> ((any AnyObject & Sendable)?, Bool) in
            contents.resolved[name, default: []].append(resolved)
            if let variants = contents.resolved[name], variants.count > Self.mostVariants {
                return (contents.resolved[name]?.removeFirst(), false)
            }
            contents.keyCount += 1
            return (nil, contents.keyCount > Self.capacity)
        }
        // Values of the program are freed without the lock.
        withExtendedLifetime(oldest) {}
        if isFull { forgetAll() }
        return resolved
    }

    private func make<Value>(_ key: DefaultsKey<Value>, _ type: ObjectIdentifier) -> ResolvedKey<Value> {
        // The compiled schema of a key without rules is the same for all keys of its type.
        let model = key.rules == nil ? contents.withLock { $0.models[type] } as? ResolvedKey<Value> : nil
        let resolved = ResolvedKey(key, like: try? model?.codec.get(), session: session, arguments: arguments)
        if let problem = resolved.argumentProblem {
            let argument = arguments.spelling(of: key.name, hidesValue: key.traits.isSecret)
            report(key.name, .invalidArgument(argument, problem))
        }
        switch resolved.codec {
        case .failure(let error): report(key.name, error)
        case .success: if key.rules == nil, model == nil { contents.withLock { $0.models[type] = resolved } }
        }
        return resolved
    }

    /// A store within another store that holds something. It is evaluated once for each key path.
    func instance<Inner: Sendable>(
        _ path: AnyKeyPath, in store: StoreInstance?, evaluate: () -> Inner
    ) -> StoreInstance {
        let identity = PathIdentity(path, in: store)
        if let known = contents.withLock({ $0.stores[identity]?.instance }) { return known }
        let inner = evaluate()
        // Values of the program are freed without the lock.
        var old: [PathIdentity: (path: RetainedPath, instance: StoreInstance)] = [:]
        return contents.withLock { contents in
            // Of two threads that evaluate the store at the same time, the first counts.
            if let known = contents.stores[identity]?.instance { return known }
            if contents.stores.count >= Self.capacity { swap(&old, &contents.stores) }
            contents.storeCount += 1
            let instance = StoreInstance(number: contents.storeCount, store: inner)
            contents.stores[identity] = (RetainedPath(path: path), instance)
            return instance
        }
    }

    /// Forgets the resolved keys. Functions that track their values read the values again, and track the new resolved keys.
    private func forgetAll() {
        forgetKeys()
        session.forgetUnusedEntries()
    }

    private func forgetKeys() {
        let old = contents.withLock { contents in
            let old = contents
            contents.resolved = [:]
            contents.keyCount = 0
            contents.readings = [:]
            return old
        }
        // The resolved keys own the trackers, so they are freed after the announcement, and without the lock.
        withExtendedLifetime(old) { session.announceAllKeys() }
    }
}

/// The identity of a key path in a store.
struct PathIdentity: Hashable, Sendable {
    private let path: ObjectIdentifier
    /// The number of the store; 0 for the adapter's own store and for stores that hold nothing.
    private let store: UInt

    init(_ path: AnyKeyPath, in store: StoreInstance?) {
        self.path = ObjectIdentifier(path)
        self.store = store?.number ?? 0
    }

    /// The hash that a dictionary uses. The default implementation protects against chosen keys, which a key path cannot be,
    /// and takes a quarter of the time of a read.
    // swift-format-ignore: NoLeadingUnderscores
    func _rawHashValue(seed: Int) -> Int {
        let hash = (UInt(bitPattern: path) ^ store &* 0x9E37_79B9_7F4A_7C15) &* 0x9E37_79B9_7F4A_7C15
        return Int(bitPattern: hash ^ hash >> 32)
    }
}

/// A store within an adapter's store that holds something, so that the names of its keys may depend on the instance.
final class StoreInstance: Sendable {
    let number: UInt
    let store: any Sendable

    init(number: UInt, store: any Sendable) {
        self.number = number
        self.store = store
    }
}
