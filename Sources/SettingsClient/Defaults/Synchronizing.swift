internal import SettingsAPI
public import SettingsKeys
internal import SettingsModel

/// Waiting for the load of the suite and for the answers to writes, and the removal of all values.
extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Waits until the suite is loaded. After that, getters do not wait for the load.
    ///
    /// Throws if the daemon does not answer within the timeout of the adapter, or refuses the suite.
    public nonisolated(nonsending) func ready() async throws(DefaultsError) {
        try await core.load()
    }

    /// Waits until the daemon has answered all writes that the program made with this adapter before the call.
    ///
    /// Throws ``DefaultsError/kept(_:)`` if a write has to wait longer than the timeout of the adapter. If the daemon
    /// refuses a write, the method does not throw: the adapter reports the refusal in ``issues``.
    public nonisolated(nonsending) func flush() async throws(DefaultsError) {
        let deadline = core.session.deadline
        let result = await Result { () async throws(BackendError) in try await core.session.flush(until: deadline) }
        await core.issues.waitUntilLoggedWithoutBlocking(until: deadline)
        if case .failure(let error) = result { throw DefaultsError(error) }
    }

    /// Waits until the daemon has answered all writes of this adapter, and the replica contains all changes that the
    /// daemon stored before the call.
    public nonisolated(nonsending) func synchronize() async throws(DefaultsError) {
        try await core.synchronize()
    }

    /// Blocks the calling thread until the daemon has answered all writes of this adapter, and the replica contains all
    /// changes that the daemon stored before the call.
    public func synchronize() throws(DefaultsError) {
        let (session, deadline) = (core.session, core.session.deadline)
        defer { core.issues.waitUntilLogged(until: deadline) }
        do throws(BackendError) {
            try session.blocking(until: deadline) { () async throws(BackendError) in
                try await session.synchronize(until: deadline)
            }
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Removes all stored values of the suite, and waits until the daemon has confirmed the removal.
    public nonisolated(nonsending) func unsetAll() async throws(DefaultsError) {
        try await core.commit(PendingChange(action: .removeAll, requestKey: .unique()))
    }
}
