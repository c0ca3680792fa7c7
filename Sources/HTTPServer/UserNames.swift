internal import Dispatch
internal import Platform
internal import Synchronization

/// A cache of the names of users. It looks up names on its own dispatch queue, because the user database of the system
/// may be remote and may take seconds to answer. Thread-safe.
final class UserNames: Sendable {
    private struct Known {
        let name: String
        var since: UInt64
    }

    /// The nanoseconds after which a name is looked up again, because the system may have assigned the number to
    /// another user.
    private static let lifetime: UInt64 = 60_000_000_000
    private static let mostKnown = 1024

    private let known = Mutex<[UInt32: Known]>([:])
    private let queue = DispatchQueue(label: "settingsd.users", qos: .userInitiated)
    private let lookUp: @Sendable (UInt32) -> String?

    /// - Parameter lookUp: asks the system for the name of a user; returns nil if the system has no name.
    init(_ lookUp: @escaping @Sendable (UInt32) -> String? = { SystemUsers.name(of: $0) }) {
        self.lookUp = lookUp
    }

    /// Returns the name of a user; nil if the cache does not have the name. If the cached name is older than the
    /// lifetime, returns it and starts a new lookup in the background. Never waits for the system.
    func name(of id: UInt32) -> String? {
        let now = MonotonicClock.system.now()
        let (name, isOld) = known.withLock { known -> (String?, Bool) in
            guard let found = known[id] else { return (nil, false) }
            let isOld = now &- found.since > Self.lifetime
            if isOld { known[id]?.since = now }
            return (found.name, isOld)
        }
        if isOld { queue.async { self.ask(for: id) } }
        return name
    }

    /// Finds the name of a user, or the user's number as text if the user has no name. Calls the body on the cache's
    /// queue, after all earlier lookups.
    func find(_ id: UInt32, _ body: @escaping @Sendable (String) -> Void) {
        queue.async { body(self.name(of: id) ?? self.ask(for: id)) }
    }

    @discardableResult
    private func ask(for id: UInt32) -> String {
        let found = lookUp(id)
        return known.withLock { known in
            if known.count >= Self.mostKnown, known[id] == nil { known = [:] }
            // Keep the old name if this lookup failed, because the user database may be unavailable for a while.
            let name = found ?? known[id]?.name ?? String(id)
            known[id] = Known(name: name, since: MonotonicClock.system.now())
            return name
        }
    }
}
