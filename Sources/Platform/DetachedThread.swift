internal import Glibc

/// Starts threads that are not joined.
package enum DetachedThread {
    /// Wraps the body of a thread in an object, because `pthread_create` passes only a pointer to the new thread.
    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Starts a thread. Throws if the system cannot create another thread.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let pointer = Unmanaged.passRetained(Body(body)).toOpaque()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { pointer in
                if let pointer { Unmanaged<Body>.fromOpaque(pointer).takeRetainedValue().run() }
                return nil
            }, pointer)
        guard code == 0 else {
            Unmanaged<Body>.fromOpaque(pointer).release()
            throw SystemError(call: "pthread_create", code: code)
        }
        _ = pthread_detach(thread)
    }
}
