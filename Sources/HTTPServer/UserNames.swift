internal import Dispatch
internal import Platform
internal import Synchronization

/// A cache that has the names of users, and looks others up on a queue of its own: the system's databases may be remote,
/// and take seconds to answer.
final class UserNames: Sendable {
    private struct Known {
        let name: String
        var since: UInt64
    }

    /// The nanoseconds after which a name is looked up again: its number may be given to another user.
    private static let lifetime: UInt64 = 60_000_000_000
    private static let mostKnown = 1024

    private let known = Mutex<[UInt32: Known]>([:])
    private let queue = DispatchQueue(label: "settingsd.users", qos: .userInitiated)
    private let lookUp: @Sendable (UInt32) -> String?

    /// - Parameter lookUp: asks the system for the name of a user; nil if there is none.
    init(_ lookUp: @escaping @Sendable (UInt32) -> String? = { SystemUsers.name(of: $0) }) {
        self.lookUp = lookUp
    }

    /// Returns the name of a user, if it is known. One that was looked up long ago counts until the system has answered
    /// again. Never waits.
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

    /// Finds the name of a user, or its number if it has none. Calls the body on the queue, after those that came before.
    func find(_ id: UInt32, _ body: @escaping @Sendable (String) -> Void) {
        queue.async { body(self.name(of: id) ?? self.ask(for: id)) }
    }

    @discardableResult
    private func ask(for id: UInt32) -> String {
        let found = lookUp(id)
        return known.withLock { known in
            if known.count >= Self.mostKnown, known[id] == nil { known = [:] }
            // The system may not have answered this time.
            let name = found ?? known[id]?.name ?? String(id)
            known[id] = Known(name: name, since: MonotonicClock.system.now())
            return name
        }
    }
}
