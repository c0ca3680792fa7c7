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
/// A few members of the adapter hide keys of the same name (``AdapterMembers/names``); `Defaults[\.name]` always means
/// the key. Keys that are hidden so are told when a schema is made of them.
@dynamicMemberLookup
public final class DefaultsAdapter<KeyStore: Sendable>: KeyedAccess {
    // Members that hide no key stand in extensions that ask for a `DefaultsKeyStore`, which the store of every adapter is.
    // Beside a member of such an extension the compiler considers the dynamic one, too, and takes what fits.
    @usableFromInline let core: AdapterCore
    @usableFromInline let keepers: InlineArray<16, CoreKeeper>
    let root: StorePlace<KeyStore>
    /// The same, not counted when it is used, as threads that read would wait for each other there.
    @usableFromInline let rootPlace: Unmanaged<StorePlace<KeyStore>>

    init(
        keyStore: KeyStore, session: SuiteSession, arguments: [String] = [],
        log: @escaping @Sendable (DefaultsIssue) -> Void = IssueBoard.standardLog
    ) where KeyStore: DefaultsKeyStore {
        if let problem = nestedStoreProblem(in: keyStore) { assertionFailure(problem) }
        let core = AdapterCore(session: session, arguments: arguments, log: log)
        self.core = core
        root = StorePlace(keyStore)
        rootPlace = Unmanaged.passUnretained(root)
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
    ) -> DefaultsAdapter where KeyStore: DefaultsKeyStore {
        guard let suite = try? SuiteName("memory") else { preconditionFailure("the name is a suite's") }
        return DefaultsAdapter(
            keyStore: keyStore, session: SuiteSession(InMemoryBackend(suite: suite, schema: schema)),
            arguments: arguments, log: log ?? IssueBoard.standardLog)
    }

    /// What the settings are reached through.
    @inlinable
    public static func core(of access: DefaultsAdapter) -> AdapterCore {
        access.core
    }

    /// The store of the adapter.
    @inlinable
    public static func place(of access: DefaultsAdapter) -> Unmanaged<StorePlace<KeyStore>> {
        access.rootPlace
    }

    /// The keys of a store within the adapter's: `Defaults.player.volume`.
    public subscript<Inner: DefaultsKeyStore>(dynamicMember path: KeyPath<KeyStore, Inner>) -> DefaultsScope<Inner> {
        @inlinable get {
            DefaultsScope<Inner>(
                keeper: keepers[ThreadPlace.current], place: core.place(path, in: rootPlace))
        }
    }
}

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// What went wrong in getters and setters, from here on.
    public var issues: AsyncStream<DefaultsIssue> {
        core.issues.issues()
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
