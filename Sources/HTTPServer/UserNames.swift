internal import Dispatch
internal import Platform
internal import Synchronization

/// A cache of the names of users. It looks up names on its own dispatch queue, because the user database of the system
/// may be remote and may take seconds to answer. Thread-safe.
final class UserNames: Sendable {
    private struct CachedName {
        let name: String
        /// The time of the last lookup.
        var lookupTime: UInt64
    }

    /// The nanoseconds after which a name is looked up again, because the user ID may belong to another user then.
    private static let lifetime: UInt64 = 60_000_000_000
    /// The maximum number of cached names. If another name does not fit, the cache first removes all names.
    private static let maximumCount = 1024

    private let cache = Mutex<[UInt32: CachedName]>([:])
    private let queue = DispatchQueue(label: "settingsd.users", qos: .userInitiated)
    private let lookUp: @Sendable (UInt32) -> String?

    /// - Parameter lookUp: asks the system for the name of a user; returns nil if the system has no name, or if the
    ///   lookup fails.
    init(_ lookUp: @escaping @Sendable (UInt32) -> String? = { SystemUsers.name(of: $0) }) {
        self.lookUp = lookUp
    }

    /// Returns the name of a user; nil if the cache does not have the name. If the cached name is older than the
    /// lifetime, returns it and starts a new lookup in the background. Never waits for the system.
    func name(of id: UInt32) -> String? {
        let now = MonotonicClock.system.now()
        let (name, isOld) = cache.withLock { cache -> (String?, Bool) in
            guard let found = cache[id] else { return (nil, false) }
            let isOld = now &- found.lookupTime > Self.lifetime
            // Prevent a second lookup while the lookup in the background runs.
            if isOld { cache[id]?.lookupTime = now }
            return (found.name, isOld)
        }
        if isOld { queue.async { self.refreshName(of: id) } }
        return name
    }

    /// Looks up the name of a user if the cache does not have the name, and calls the body on the cache's queue. Passes
    /// the name, or the user ID as text if the system has no name.
    func find(_ id: UInt32, _ body: @escaping @Sendable (String) -> Void) {
        queue.async { body(self.name(of: id) ?? self.refreshName(of: id)) }
    }

    @discardableResult
    private func refreshName(of id: UInt32) -> String {
        let found = lookUp(id)
        return cache.withLock { cache in
            if cache.count >= Self.maximumCount, cache[id] == nil { cache = [:] }
            // Keep the old name if the lookup found no name: the user database may be unavailable for a while.
            let name = found ?? cache[id]?.name ?? String(id)
            cache[id] = CachedName(name: name, lookupTime: MonotonicClock.system.now())
            return name
        }
    }
}
