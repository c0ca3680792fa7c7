internal import SettingsKeys

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Creates an adapter for any backend. The module SettingsClientTesting uses this initializer for suites in memory.
    package convenience init(
        keyStore: KeyStore, backend: any SuiteBackend, clock: any SessionClock, timeout: Duration, writes: WriteMode,
        arguments: [String], log: DefaultsLog?
    ) {
        let session = SuiteSession(backend, options: SuiteSession.Options(timeout: timeout, clock: clock))
        self.init(keyStore: keyStore, session: session, arguments: arguments, writes: writes, log: log)
    }
}
