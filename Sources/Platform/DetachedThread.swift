internal import Glibc
internal import Synchronization

/// Starts threads that are not joined.
package enum DetachedThread {
    /// The bodies (the closures that threads run) by an identifier, and the identifier that was assigned last.
    private struct Pending {
        var lastID = 0
        var bodies: [Int: @Sendable () -> Void] = [:]
    }

    /// The bodies of threads that do not run yet. A C function cannot capture a body, so each new thread removes one.
    private static let pending = Mutex(Pending())

    /// Starts a thread. Throws if the system cannot create another thread.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let id = pending.withLock { pending in
            pending.lastID += 1
            pending.bodies[pending.lastID] = body
            return pending.lastID
        }
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { _ in
                DetachedThread.removePendingBody()?()
                return nil
            }, nil)
        guard code == 0 else {
            pending.withLock { _ = $0.bodies.removeValue(forKey: id) }
            throw SystemError(call: "pthread_create", code: code)
        }
        _ = pthread_detach(thread)
    }

    private static func removePendingBody() -> (@Sendable () -> Void)? {
        pending.withLock { $0.bodies.popFirst()?.value }
    }
}
