public import SettingsModel

/// The settings of a suite, by their keys.
///
///     Defaults[\.launchCount] += 1            Defaults.launchCount += 1            Defaults[key: looseKey] = "red"
///     Defaults[\.libraries].append("x")       Defaults[\.username] = nil
///
/// Reads come from a replica of the suite that is loaded at first use and kept fresh. A setter returns when the write is
/// acknowledged; as it cannot throw, what is refused is taken back and told to ``issues`` and to the log. A change in
/// place is done only to the value that it was computed from, unless the key says how to merge; while it is under way,
/// nothing is locked, and one that throws or changes nothing sends nothing.
///
/// While the server is away, a setter returns when the write is on disk: it is seen here, and is sent in its turn when the
/// server is back, by a later run of the program if need be. What is refused then is taken back and told likewise. The async
/// forms return when the write is acknowledged, and throw ``DefaultsError/kept(_:)`` if it waits.
///
/// Members of the adapter win over keys of the same name (``AdapterMembers/names``); `Defaults[\.name]` always means
/// the key. Keys that are hidden so are told when a schema is made of them.
@dynamicMemberLookup
public final class DefaultsAdapter<KeyStore: DefaultsKeyStore>: KeyedAccess {
    @usableFromInline let core: AdapterCore
    @usableFromInline let keepers: InlineArray<16, CoreKeeper>

    init(
        keyStore: KeyStore, backend: any SuiteBackend, arguments: [String] = [],
        log: @escaping @Sendable (DefaultsIssue) -> Void = IssueBoard.standardLog
    ) {
        let core = AdapterCore(backend: backend, arguments: arguments, log: log)
        self.core = core
        keepers = InlineArray { _ in CoreKeeper(core) }
    }

    /// Settings without a daemon, which behave the same and last as long as the adapter: for tests and previews.
    ///
    /// - Parameters:
    ///   - keyStore: where the keys are defined.
    ///   - schema: what the suite may hold; without one, anything.
    ///   - arguments: what the command line would say, without the program's name.
    ///   - log: what is done with each issue; by default a line on standard error.
    public static func inMemory(
        keyStore: KeyStore, schema: Schema? = nil, arguments: [String] = [],
        log: (@Sendable (DefaultsIssue) -> Void)? = nil
    ) -> DefaultsAdapter {
        guard let suite = try? SuiteName("memory") else { preconditionFailure("the name is a suite's") }
        return DefaultsAdapter(
            keyStore: keyStore, backend: InMemoryBackend(suite: suite, schema: schema), arguments: arguments,
            log: log ?? IssueBoard.standardLog)
    }

    /// What the settings are reached through.
    @inlinable
    public static func core(of access: DefaultsAdapter) -> AdapterCore {
        access.core
    }

    /// The keys of a store within the adapter's: `Defaults.player.volume`.
    public subscript<Inner: DefaultsKeyStore>(dynamicMember path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> {
        @inlinable get { DefaultsScope<Inner>(keeper: keepers[ThreadPlace.current]) }
    }

    /// What went wrong in getters and setters, from here on.
    public var issues: AsyncStream<DefaultsIssue> {
        core.issues.issues()
    }
}

extension DefaultsAdapter {
    /// Whether a key has a value that is not a default: from the command line, stored, or registered.
    public func hasKey<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Bool {
        core.hasKey(core.slot(path))
    }

    /// Whether a key has a value that is not a default.
    public func hasKey<Value>(key: DefaultsKey<Value>) -> Bool {
        core.hasKey(core.slots.slot(for: key))
    }

    /// Whether somebody stored a value for a key.
    public func isSet<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Bool {
        core.isSet(core.slot(path))
    }

    /// Whether somebody stored a value for a key.
    public func isSet<Value>(key: DefaultsKey<Value>) -> Bool {
        core.isSet(core.slots.slot(for: key))
    }

    /// Takes what is stored for a key away, so that the default holds; that nothing is stored is fine.
    public func remove<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) {
        core.remove(core.slot(path))
    }

    /// Takes what is stored for a key away.
    public func remove<Value>(key: DefaultsKey<Value>) {
        core.remove(core.slots.slot(for: key))
    }

    /// Takes everything away that is stored in this suite.
    public func removeAll() {
        core.attempt(nil) { () throws(DefaultsError) in try core.removeAll() }
    }

    /// Gives values to read where nothing is stored. They are never stored, nor seen by anybody else; those registered
    /// later win.
    public func register(defaults: [String: JSONValue]) {
        core.register(defaults)
    }
}
