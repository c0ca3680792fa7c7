internal import SettingsModel

extension SuiteBackend {
    /// The same suite, with files of this machine for when nobody is there.
    ///
    /// - Parameters:
    ///   - server: whose suite it is: what is kept for one is not sent to another.
    ///   - outbox: where writes wait.
    ///   - cache: where what was known last is saved.
    ///   - patience: how long a setter waits for what waits before it.
    func keeping(
        outbox: KeptFiles, cache: KeptFiles, of server: ServerAddress, patience: Duration
    ) -> any SuiteBackend {
        let owner = KeptOwner(server: server.description, suite: suite)
        var backend: any SuiteBackend = self
        if let directory = cache.directory(for: .cache, of: owner.suite, at: owner.server) {
            backend = CachingBackend(backend, CacheFile(in: directory, of: owner))
        }
        // Outside of the cache, which is to know what becomes of writes that waited.
        if let directory = outbox.directory(for: .outbox, of: owner.suite, at: owner.server) {
            let folder = OutboxFolder(path: directory, owner: owner, files: MachineFiles())
            backend = OutboxBackend(backend, OutboxStore(folder), patience: patience)
        }
        return backend
    }
}
